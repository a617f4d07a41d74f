//! Passing hints between processes: PostgreSQL's NOTIFY, and LISTEN on a connection of its own.
//!
//! Never once per job and never inside a job's transaction: a notification takes a global lock at
//! commit (bug B096). The first hint goes out at once, those that follow within the pause go out
//! together. Whatever is lost, the puller's own look finds.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::every::{back_off, every};
use super::wake::LONG_DUE;
use super::{Ctx, Error};
use crate::store::hints::{self, Topic};

/// The pause between two notifications of one process.
const PAUSE: Duration = Duration::from_millis(20);
/// A connection that was up for so long was no failed attempt.
const LASTED: Duration = Duration::from_secs(10);
/// How often a listening connection is replaced, so that none holds back vacuum for long (B097).
const RECYCLE: Duration = Duration::from_mins(30);

/// Tells other processes what this one's use cases made due, until `stop`.
pub async fn tell(ctx: Ctx, stop: CancellationToken) {
    let news = || async {
        tokio::select! {
            () = ctx.wake.jobs().elsewhere.news() => {}
            () = ctx.wake.slots().elsewhere.news() => {}
        }
    };
    every("hint", stop, news, || tell_once(&ctx)).await;
}

async fn tell_once(ctx: &Ctx) -> Result<Duration, Error> {
    let mut told = false;
    for (topic, pair) in [(Topic::Jobs, ctx.wake.jobs()), (Topic::Slots, ctx.wake.slots())] {
        let dues = pair.elsewhere.take();
        if !dues.is_empty() {
            hints::notify(&ctx.store, topic, &dues).await?;
            told = true;
        }
    }
    if told {
        sleep(PAUSE).await;
    }
    Ok(Duration::from_hours(1))
}

/// Hears what other processes made due, until `stop`.
pub async fn listen(ctx: Ctx, stop: CancellationToken) {
    let mut errors = 0;
    while !stop.is_cancelled() {
        let began = Instant::now();
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(RECYCLE) => Ok(()),
            ended = hear(&ctx) => ended,
        };
        if let Err(error) = heard {
            // One that has lasted was a good one.
            errors = if began.elapsed() > LASTED { 1 } else { errors + 1 };
            tracing::debug!(%error, errors, "the listening connection ended");
            sleep(back_off(errors)).await;
        } else {
            errors = 0;
        }
        // Hints may have been missed in between: every shard is worth a look.
        for shard in ctx.shards.iter() {
            ctx.wake.jobs().here.put(*shard, LONG_DUE);
            ctx.wake.slots().here.put(*shard, LONG_DUE);
        }
    }
}

async fn hear(ctx: &Ctx) -> Result<(), Error> {
    let wake = ctx.wake.clone();
    let heard = move |topic, dues: Vec<_>| {
        let pair = match topic {
            Topic::Jobs => wake.jobs(),
            Topic::Slots => wake.slots(),
        };
        for (shard, at) in dues {
            pair.here.put(shard, at);
        }
    };
    Ok(hints::listen(&ctx.store, heard).await?)
}
