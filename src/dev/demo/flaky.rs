//! `/demo/flaky`: fails a job's first calls, then answers 200, so that a retry can be watched. The
//! calls are counted in memory, for the latest jobs only.

use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};

use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::request::{BadRequest, Query, header};

/// How many jobs are remembered; the oldest is forgotten first and would fail anew.
const MAX_JOBS: usize = 10_000;

/// One count for all of actix's workers: each has its own copy of the application, and a job's
/// calls may reach any of them.
static CALLS: LazyLock<Mutex<Calls>> = LazyLock::new(Mutex::default);

pub(super) async fn flaky(request: HttpRequest) -> Result<HttpResponse, BadRequest> {
    let query = Query::of(&request, &["fails"])?;
    let fails = query.number("fails", 2, 0..=1000)?;
    let job = header(&request, "Axle-Job-Id", "by which the calls of one job are counted")?;
    // A panic elsewhere cannot leave a count half-written.
    let call = CALLS.lock().unwrap_or_else(PoisonError::into_inner).count(job, MAX_JOBS);
    let mut answer =
        if call <= fails { HttpResponse::InternalServerError() } else { HttpResponse::Ok() };
    Ok(answer.json(json!({ "call": call, "fails": fails })))
}

/// How often each of the latest jobs called.
#[derive(Default)]
struct Calls {
    by_job: HashMap<String, u64>,
    oldest_first: VecDeque<String>,
}

impl Calls {
    /// Counts a call of `job` and returns its number, from 1.
    fn count(&mut self, job: &str, max_jobs: usize) -> u64 {
        if let Some(calls) = self.by_job.get_mut(job) {
            *calls = calls.saturating_add(1);
            return *calls;
        }
        if self.oldest_first.len() >= max_jobs
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.by_job.remove(&oldest);
        }
        self.by_job.insert(job.to_owned(), 1);
        self.oldest_first.push_back(job.to_owned());
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_is_counted_alone_and_the_oldest_is_forgotten() {
        let mut calls = Calls::default();
        assert_eq!([calls.count("a", 2), calls.count("a", 2), calls.count("b", 2)], [1, 2, 1]);
        assert_eq!(calls.count("c", 2), 1, "a new job, in the place of `a`");
        assert_eq!([calls.count("b", 2), calls.count("a", 2)], [2, 1]);
        assert_eq!(calls.by_job.len(), 2);
    }
}
