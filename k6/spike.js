// Ten times the load for a while: it is taken without a refusal, and when it is over the API is as
// quick as before, with the backlog gone.

import exec from 'k6/execution';
import { allFinished, job, register, seconds, share, within } from './axle.js';

const CALM = 20;
const SPIKE = 200;

export const options = {
  scenarios: {
    spike: {
      executor: 'ramping-arrival-rate', startRate: CALM, timeUnit: '1s',
      preAllocatedVUs: 300,
      stages: [
        { duration: share(0.3), target: CALM },
        { duration: share(0.05), target: SPIKE },
        { duration: share(0.3), target: SPIKE },
        { duration: share(0.05), target: CALM },
        { duration: share(0.3), target: CALM },
      ],
    },
  },
  thresholds: {
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    dropped_iterations: ['count==0'],
    'http_req_duration{part:during}': [within(95, 250)],
    'http_req_duration{part:after}': [within(95, 100)],
  },
};

export default function () {
  const passed = (Date.now() - exec.scenario.startTime) / 1000;
  exec.vu.metrics.tags.part = passed > seconds * 0.8 ? 'after' : 'during';
  register(job());
}

export function teardown() {
  allFinished();
}
