//! Passing hints between processes: PostgreSQL's NOTIFY, and LISTEN on a connection of its own; beside
//! them Redis, where there is one, which is sooner.
//!
//! Never once per job and never inside a job's transaction: a notification takes a global lock at
//! commit (bug B096). The first hint goes out at once, those that follow within the pause go out
//! together. Whatever is lost, the puller's own look finds. A text is a list of `shard:microseconds`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::every::{back_off, every};
use super::wake::{Dues, LONG_DUE, Pair};
use super::{Ctx, Error};
use crate::domain::id::Shard;
use crate::hints::{Error as Silent, Redis, Speaker};
use crate::store::hints::{self, Topic};
use crate::telemetry::metrics as names;

/// The pause between two notifications of one process; where Redis has passed the hints on, they are
/// only for those who missed them there.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_BESIDE_REDIS: Duration = Duration::from_millis(200);
/// The pause between two messages to Redis.
const PAUSE_OF_REDIS: Duration = Duration::from_millis(2);
/// How often Redis is asked whether it is there when there is nothing to tell.
const CHECK: Duration = Duration::from_secs(5);
/// A connection that was up for so long was no failed attempt.
const LASTED: Duration = Duration::from_secs(10);
/// How often a listening connection is replaced, so that none holds back vacuum for long (B097).
const RECYCLE: Duration = Duration::from_mins(30);
/// PostgreSQL takes texts of up to 7,999 bytes; a shard and its time take at most 22.
const MOST: usize = 300;

/// Tells other processes what this one's use cases made due, until `stop`.
pub async fn tell(ctx: Ctx, redis: Option<Redis>, stop: CancellationToken) {
    let news = || async {
        tokio::select! {
            () = ctx.wake.jobs().elsewhere.news() => {}
            () = ctx.wake.slots().elsewhere.news() => {}
        }
    };
    every("hint", stop, news, || tell_once(&ctx, redis.as_ref())).await;
}

async fn tell_once(ctx: &Ctx, redis: Option<&Redis>) -> Result<Duration, Error> {
    let mut told = false;
    for topic in Topic::ALL {
        let dues = pair(ctx, topic).elsewhere.take();
        if !dues.is_empty() {
            hints::notify(&ctx.store, topic, &text(&dues)).await?;
            told = true;
        }
    }
    if told {
        let is_told = redis.is_some_and(Redis::is_up);
        sleep(if is_told { PAUSE_BESIDE_REDIS } else { PAUSE }).await;
    }
    Ok(Duration::from_hours(1))
}

/// The same over Redis, until `stop`; looks now and then whether it is there.
pub async fn tell_sooner(ctx: Ctx, redis: Redis, stop: CancellationToken) {
    let mut speaker = Speaker::default();
    let mut errors = 0;
    while !stop.is_cancelled() {
        errors = match publish(&ctx, &redis, &mut speaker).await {
            Ok(()) => 0,
            Err(error) => {
                tracing::debug!(%error, errors, "hints are left to PostgreSQL");
                errors + 1
            }
        };
        note(&redis);
        let rest = async {
            if errors > 0 {
                return sleep(back_off(errors)).await;
            }
            sleep(PAUSE_OF_REDIS).await;
            tokio::select! {
                () = ctx.wake.jobs().sooner.news() => {}
                () = ctx.wake.slots().sooner.news() => {}
                () = sleep(CHECK) => {}
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = rest => {}
        }
    }
}

async fn publish(ctx: &Ctx, redis: &Redis, speaker: &mut Speaker) -> Result<(), Silent> {
    let mut asked = false;
    for topic in Topic::ALL {
        let dues = pair(ctx, topic).sooner.take();
        if !dues.is_empty() {
            redis.publish(speaker, (topic.channel(), &text(&dues))).await?;
            asked = true;
        }
    }
    if asked { Ok(()) } else { redis.ping(speaker).await }
}

fn note(redis: &Redis) {
    metrics::gauge!(names::REDIS_UP).set(if redis.is_up() { 1.0 } else { 0.0 });
}

/// Hears what other processes made due, until `stop`.
pub async fn listen(ctx: Ctx, stop: CancellationToken) {
    let mut errors = 0;
    while !stop.is_cancelled() {
        let began = Instant::now();
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(RECYCLE) => Ok(()),
            ended = hints::listen(&ctx.store, |topic, text| take_in(&ctx, topic, text)) => ended,
        };
        if let Err(error) = heard {
            // One that has lasted was a good one.
            errors = if began.elapsed() > LASTED { 1 } else { errors + 1 };
            tracing::debug!(%error, errors, "the listening connection ended");
            sleep(back_off(errors)).await;
        } else {
            errors = 0;
        }
        look_everywhere(&ctx);
    }
}

/// The same over Redis, until `stop`.
pub async fn listen_sooner(ctx: Ctx, redis: Redis, stop: CancellationToken) {
    let topics = Topic::ALL.map(Topic::channel);
    let mut errors = 0;
    while !stop.is_cancelled() {
        let began = Instant::now();
        let hear = redis.listen(
            &topics,
            || note(&redis),
            |channel, text| {
                if let Some(topic) = Topic::of(channel) {
                    take_in(&ctx, topic, text);
                }
            },
        );
        let heard = tokio::select! {
            () = stop.cancelled() => return,
            ended = hear => ended,
        };
        note(&redis);
        errors = if began.elapsed() > LASTED { 1 } else { errors + 1 };
        match heard {
            // Once is enough for an operator.
            Err(error) if errors == 1 => {
                tracing::warn!(%error, "hints come by PostgreSQL alone");
            }
            Err(error) => tracing::debug!(%error, errors, "Redis is still away"),
            Ok(()) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(back_off(errors)) => {}
        }
    }
}

/// Hints may have been missed: every shard is worth a look.
fn look_everywhere(ctx: &Ctx) {
    for shard in ctx.shards.iter() {
        ctx.wake.jobs().here.put(*shard, LONG_DUE);
        ctx.wake.slots().here.put(*shard, LONG_DUE);
    }
}

fn pair(ctx: &Ctx, topic: Topic) -> &Pair {
    match topic {
        Topic::Jobs => ctx.wake.jobs(),
        Topic::Slots => ctx.wake.slots(),
    }
}

fn text(dues: &Dues) -> String {
    let words = dues.iter().take(MOST);
    let words = words.map(|(shard, due_at)| format!("{}:{}", shard.0, due_at.timestamp_micros()));
    words.collect::<Vec<_>>().join(",")
}

/// Words that are no hints are passed over: anybody may send to a channel.
fn take_in(ctx: &Ctx, topic: Topic, text: &str) {
    let read = |word: &str| {
        let (shard, micros) = word.split_once(':')?;
        let due_at = DateTime::<Utc>::from_timestamp_micros(micros.parse().ok()?)?;
        Some((Shard(shard.parse().ok()?), due_at))
    };
    for (shard, due_at) in text.split(',').filter_map(read) {
        pair(ctx, topic).here.put(shard, due_at);
    }
}
