// The same load for long, five times as long as the others: the last part is as quick as the first,
// since neither history nor anything that is kept makes the work dearer.

import exec from 'k6/execution';
import { check } from 'k6';
import { Trend } from 'k6/metrics';
import { allFinished, finished, job, register, seconds, tookMs, within } from './axle.js';

const LENGTH = 5 * seconds;
const finishedMs = new Trend('axle_finished_ms', true);

export const options = {
  scenarios: {
    soak: {
      executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: `${LENGTH}s`,
      preAllocatedVUs: 100,
    },
  },
  thresholds: {
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    dropped_iterations: ['count==0'],
    'http_req_duration{part:first}': [within(95, 100)],
    'http_req_duration{part:last}': [within(95, 100)],
    'axle_finished_ms{part:first}': [within(95, 250)],
    'axle_finished_ms{part:last}': [within(95, 250)],
  },
};

export default function () {
  const passed = (Date.now() - exec.scenario.startTime) / 1000;
  const part = passed < LENGTH * 0.2 ? 'first' : passed > LENGTH * 0.8 ? 'last' : 'middle';
  exec.vu.metrics.tags.part = part;
  const registered = register(job());
  // Following each would load the API with readers.
  if (exec.scenario.iterationInTest % 10 === 0) {
    const seen = finished(registered.id);
    check(seen, { 'it succeeded': (it) => it.state === 'SUCCESS' });
    finishedMs.add(tookMs(seen));
  }
}

export function teardown() {
  allFinished();
}
