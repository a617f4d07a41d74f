// What the scripts share: who asks whom, how a job is registered, and how its end is awaited.
//
// The environment says where everything is: AXLE_URL (the API), AXLE_TOKEN (a writer's token) and
// SINK_URL (a target: a number after it is answered 200, /callback/ and a number 202, and its
// callback follows). `make k6` sets all three. SECONDS is how long a script loads the server; SLACK
// multiplies every bound of a duration, for a slow machine or a build that is not optimised.

import http from 'k6/http';
import { check, sleep } from 'k6';

export const seconds = Number(__ENV.SECONDS || 30);
const slack = Number(__ENV.SLACK || 1);

// A threshold on a percentile in milliseconds.
export function within(percentile, ms) {
  return `p(${percentile})<${ms * slack}`;
}

// So many of the scripts' seconds.
export function share(part) {
  return `${Math.max(1, Math.round(seconds * part))}s`;
}

const token = { Authorization: `Bearer ${__ENV.AXLE_TOKEN}` };

export function job(more) {
  return Object.assign({
    queue: 'k6',
    target: { url: `${__ENV.SINK_URL}/1` },
    payload: { event: 'order.closed', order: 4711, note: 'closed by the nightly run' },
  }, more);
}

export function callbackJob() {
  return job({ target: { url: `${__ENV.SINK_URL}/callback/1` }, completion: 'callback' });
}

export function post(path, body, headers) {
  const all = Object.assign({ 'Content-Type': 'application/json' }, token, headers);
  // The name keeps requests together in the summary, whatever their address.
  return http.post(`${__ENV.AXLE_URL}${path}`, JSON.stringify(body), {
    headers: all, tags: { name: path },
  });
}

export function get(path, name) {
  return http.get(`${__ENV.AXLE_URL}${path}`, { headers: token, tags: { name: name || path } });
}

// Registers a job; gives it as the server answered it.
export function register(body, headers) {
  const answer = post('/v1/jobs', body, headers);
  check(answer, { 'registered': (r) => r.status === 201 });
  return answer.json();
}

// Reads a job until it is finished, at most `patience` seconds; gives what was read last.
export function finished(id, patience) {
  const until = Date.now() + (patience || 30) * 1000;
  let seen = get(`/v1/jobs/${id}`, '/v1/jobs/{id}').json();
  while (!seen.finished_at && Date.now() < until) {
    sleep(0.05);
    seen = get(`/v1/jobs/${id}`, '/v1/jobs/{id}').json();
  }
  return seen;
}

// From the registration to the end, by the server's clock.
export function tookMs(seen) {
  return Date.parse(seen.finished_at) - Date.parse(seen.created_at);
}

// Waits until nothing is unfinished: every job that was taken is run, none is stuck.
export function allFinished(patience) {
  const until = Date.now() + (patience || 60) * 1000;
  const unfinished = () => ['PENDING', 'RETRY_WAIT', 'RUNNING'].filter((state) =>
    get(`/v1/jobs?queue=k6&state=${state}&limit=1`, '/v1/jobs').json().data.length > 0);
  let left = unfinished();
  while (left.length > 0 && Date.now() < until) {
    sleep(0.2);
    left = unfinished();
  }
  const failed = get('/v1/jobs?queue=k6&state=FAILED&limit=1', '/v1/jobs').json().data;
  check(left, { 'no job is left unfinished': (states) => states.length === 0 });
  check(failed, { 'no job has failed': (jobs) => jobs.length === 0 });
}
