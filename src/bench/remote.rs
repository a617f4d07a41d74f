//! A server that runs already: only what its callers see. Its pullers cannot be held still, so every
//! enqueue competes with the drain; and its database is not asked anything. Its jobs call a sink of
//! the bench, once, so that none is left when the bench is gone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::time::{Instant, sleep, timeout};
use url::{Host, Url};

use super::api::Api;
use super::figures::{Figures, What, number};
use super::phase::Phase;
use super::sink::Sink;
use super::{Size, enqueue, latency};

/// A server that runs already.
#[derive(Clone, Debug)]
pub struct Server {
    /// The base of its API.
    pub url: String,
    /// The bearer token of a writer.
    pub token: Option<String>,
    /// The name or address of this machine for the server's pullers; this machine itself if it is a
    /// loopback address.
    pub sink_host: String,
}

/// The first job has to arrive within this time.
const FIRST: Duration = Duration::from_secs(10);
/// All others within this one after they were enqueued.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often the sink is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Measures these phases; each must be one that a caller can measure.
pub(super) async fn measure(
    server: &Server,
    phases: &[Phase],
    size: Size,
    tell: fn(&str),
) -> anyhow::Result<Figures> {
    let sink = Sink::start(listens_on(&server.sink_host))?;
    let api = api(server, &sink).await?;
    try_one(&api, &sink).await?;
    let mut figures = Figures::default();
    for round in 1..=size.rounds {
        for phase in phases {
            tell(&format!("round {round} of {}: {}", size.rounds, phase.name()));
            if *phase == Phase::Enqueue {
                singles((&api, &sink), size.seconds, &mut figures).await?;
            } else if *phase == Phase::Drain {
                batches((&api, &sink), size.jobs, &mut figures).await?;
            } else {
                latency::measure((&api, &sink), size.timed, &mut figures).await?;
            }
        }
    }
    Ok(figures)
}

async fn singles(
    (api, sink): (&Api, &Sink),
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let count = enqueue::singles(api, seconds).await?;
    figures.add(What::EnqueueSingle, number(count) / started.elapsed().as_secs_f64());
    all_came(sink, count).await?;
    figures.add(What::Sustained, number(count) / started.elapsed().as_secs_f64());
    Ok(())
}

async fn batches(
    (api, sink): (&Api, &Sink),
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let enqueued = enqueue::fill(api, 0..jobs, |_| ()).await?;
    figures.add(What::EnqueueBatch, number(jobs) / enqueued.as_secs_f64());
    all_came(sink, jobs).await?;
    figures.add(What::SustainedBatch, number(jobs) / started.elapsed().as_secs_f64());
    Ok(())
}

/// Where the sink listens: everywhere, unless the pullers are on this machine.
fn listens_on(sink_host: &str) -> IpAddr {
    match Host::parse(sink_host) {
        Ok(Host::Ipv4(ip)) if ip.is_loopback() => ip.into(),
        Ok(Host::Ipv6(ip)) if ip.is_loopback() => ip.into(),
        Ok(Host::Ipv6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        Ok(Host::Domain(name)) if name == "localhost" => Ipv4Addr::LOCALHOST.into(),
        Ok(Host::Ipv4(_) | Host::Domain(_)) | Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

async fn api(server: &Server, sink: &Sink) -> anyhow::Result<Api> {
    let url = Url::parse(&server.url).with_context(|| format!("--url {}", server.url))?;
    if url.scheme() != "http" {
        bail!("the bench speaks plain HTTP only: name the API behind what terminates TLS");
    }
    let (host, port) = (url.host_str().context("--url has no host")?, url.port().unwrap_or(80));
    let looked_up = tokio::net::lookup_host((host.trim_matches(['[', ']']), port)).await;
    let mut addresses = looked_up.with_context(|| format!("finding {host}"))?;
    let target = format!("http://{}:{}", server.sink_host, sink.address().port());
    Url::parse(&target).with_context(|| format!("--sink-host {}", server.sink_host))?;
    Ok(Api {
        address: addresses.next().with_context(|| format!("{host} has no address"))?,
        host: format!("{host}:{port}"),
        prefix: url.path().trim_end_matches('/').to_owned(),
        token: server.token.clone(),
        target,
        retries: false,
    })
}

/// One job, so that a sink that cannot be reached is said before thousands have failed.
async fn try_one(api: &Api, sink: &Sink) -> anyhow::Result<()> {
    let request = api.post("/v1/jobs", &api.job(0)?)?;
    let connected = api.connect().await.with_context(|| format!("reaching {}", api.host));
    Api::check(&connected?.ask(&request).await?).context("the first job")?;
    let came = timeout(FIRST, sink.wait_for(0)).await;
    let seconds = FIRST.as_secs();
    came.with_context(|| {
        format!(
            "the first job did not reach {} within {seconds} s: can the server's pullers reach this \
             machine by the name in --sink-host, may they call it (target_allow), do they run?",
            api.target
        )
    })?;
    Ok(())
}

/// Waits until so many calls have come.
async fn all_came(sink: &Sink, count: usize) -> anyhow::Result<()> {
    let came = async {
        while sink.count() < count {
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(PATIENCE, came).await.with_context(|| {
        format!("{} of {count} jobs have come after {} s", sink.count(), PATIENCE.as_secs())
    })?;
    let seen = sink.take().len();
    ensure!(seen == count, "{seen} calls for {count} jobs");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sink_is_open_to_others_only_if_they_have_to_reach_it() {
        for (host, open) in [
            ("127.0.0.1", false),
            ("localhost", false),
            ("[::1]", false),
            ("bench.example", true),
            ("10.1.2.3", true),
            ("[fd00::7]", true),
        ] {
            assert_eq!(listens_on(host).is_unspecified(), open, "{host}");
        }
    }
}
