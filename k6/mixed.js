// What a day is made of: single jobs, jobs with callbacks, batches, delayed jobs and readers, all at
// once. Each kind keeps its latency beside the others, no delayed job runs early, and none is lost.

import { check } from 'k6';
import { Trend } from 'k6/metrics';
import {
  allFinished, callbackJob, finished, get, job, post, register, share, tookMs, within,
} from './axle.js';

const plainMs = new Trend('axle_plain_ms', true);
const callbackMs = new Trend('axle_callback_ms', true);
const lateMs = new Trend('axle_late_ms', true);

function arriving(exec, rate) {
  return {
    executor: 'constant-arrival-rate', exec, rate, timeUnit: '1s', duration: share(1),
    preAllocatedVUs: 50,
  };
}

export const options = {
  scenarios: {
    plain: arriving('plain', 20),
    callback: arriving('callback', 10),
    batch: arriving('batch', 1),
    delayed: arriving('delayed', 2),
    read: arriving('read', 10),
  },
  thresholds: {
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    dropped_iterations: ['count==0'],
    'http_req_duration{name:/v1/jobs}': [within(95, 100)],
    axle_plain_ms: [within(95, 250)],
    axle_callback_ms: [within(95, 500)],
    axle_late_ms: ['min>=0', within(95, 250)],
  },
};

export function plain() {
  const seen = finished(register(job()).id);
  check(seen, { 'a plain job succeeded': (it) => it.state === 'SUCCESS' });
  plainMs.add(tookMs(seen));
}

export function callback() {
  const seen = finished(register(callbackJob()).id);
  check(seen, { 'a job with a callback succeeded': (it) => it.state === 'SUCCESS' });
  callbackMs.add(tookMs(seen));
}

export function batch() {
  const answer = post('/v1/jobs/batch', { jobs: Array.from({ length: 50 }, () => job()) });
  check(answer, { 'a batch was taken': (r) => r.status === 200 && r.json().created === 50 });
}

export function delayed() {
  const seen = finished(register(job({ delay_ms: 1000 })).id);
  check(seen, { 'a delayed job succeeded': (it) => it.state === 'SUCCESS' });
  const run = get(`/v1/jobs/${seen.id}/runs`, '/v1/jobs/{id}/runs').json().data[0];
  lateMs.add(Date.parse(run.sent_at) - Date.parse(seen.due_at));
}

export function read() {
  const page = get('/v1/jobs?queue=k6&limit=20', '/v1/jobs');
  check(page, { 'a page was read': (r) => r.status === 200 });
}

export function teardown() {
  allFinished();
}
