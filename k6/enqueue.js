// Enqueueing as fast as 32 callers can, one job a request: every one is answered, soon, and every job
// that was taken is run.

import { allFinished, job, register, share, within } from './axle.js';

export const options = {
  vus: 32,
  duration: share(1),
  thresholds: {
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    'http_req_duration{name:/v1/jobs}': [within(50, 50), within(99, 250)],
  },
};

export default function () {
  register(job());
}

export function teardown() {
  allFinished();
}
