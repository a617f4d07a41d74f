// The first promise: a job that was registered is called once, and its end can be read; a repeat of
// the request makes no second job; nobody gets in without a token.

import http from 'k6/http';
import { check } from 'k6';
import { callbackJob, finished, get, job, post, register } from './axle.js';

export const options = {
  vus: 1,
  iterations: 5,
  thresholds: { checks: ['rate==1'], http_req_failed: ['rate==0'] },
};

export default function () {
  const plain = finished(register(job()).id);
  check(plain, {
    'it succeeded': (seen) => seen.state === 'SUCCESS',
    'at its first attempt': (seen) => seen.attempt === 1,
  });
  const runs = get(`/v1/jobs/${plain.id}/runs`, '/v1/jobs/{id}/runs').json().data;
  check(runs, { 'it was called once': (all) => all.length === 1 && all[0].http_status === 200 });

  const called = finished(register(callbackJob()).id);
  check(called, { 'its callback ended it': (seen) => seen.state === 'SUCCESS' });

  const key = { 'Idempotency-Key': `smoke-${__ITER}-${Date.now()}` };
  const first = register(job(), key);
  const again = post('/v1/jobs', job(), key);
  check(again, { 'a repeat is the same job': (r) => r.json().id === first.id });

  const nobody = http.get(`${__ENV.AXLE_URL}/v1/jobs`, {
    tags: { name: '/v1/jobs without a token' },
    responseCallback: http.expectedStatuses(401),
  });
  check(nobody, { 'nobody is refused': (r) => r.status === 401 });
}
