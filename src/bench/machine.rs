//! On what it was measured: without this a figure says little.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use super::database;

/// What decides the figures beside the program.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    /// Of Axle.
    pub(super) version: &'static str,
    /// Whether this build was optimised.
    pub(super) optimised: bool,
    /// CPUs that may be used.
    pub(super) cpus: usize,
    /// Their kind.
    pub(super) cpu: Option<String>,
    /// Main memory in MiB.
    pub(super) memory_mib: Option<u64>,
    /// The kernel.
    pub(super) kernel: String,
    /// How many processes wanted to run just before, over a minute: what else goes on.
    pub(super) load: Option<f64>,
    /// PostgreSQL's settings that matter here.
    pub(super) postgres: BTreeMap<String, String>,
}

impl Machine {
    /// Looks at this machine, and asks the database if it is ours.
    pub(super) async fn look(database: Option<&str>) -> anyhow::Result<Self> {
        let uname = rustix::system::uname();
        let text = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
        let kernel = [text(uname.sysname()), text(uname.release()), text(uname.machine())];
        let load = fs::read_to_string("/proc/loadavg").ok();
        let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
            let kibibytes: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
            Some(kibibytes / 1024)
        });
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            cpus: std::thread::available_parallelism()?.get(),
            cpu: field("/proc/cpuinfo", "model name"),
            memory_mib: memory,
            kernel: kernel.join(" "),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
            postgres: match database {
                Some(database) => settings(database).await?,
                None => BTreeMap::new(),
            },
        })
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let cpu = self.cpu.as_deref().unwrap_or("unknown CPU");
        let memory = self.memory_mib.map_or_else(String::new, |mib| format!(", {mib} MiB"));
        let here =
            format!("Axle {} on {} × {cpu}{memory}, {}", self.version, self.cpus, self.kernel);
        let known = |name: &str| self.postgres.get(name).map_or("?", String::as_str);
        if self.postgres.is_empty() {
            return format!("{here}, as a client of a server that ran already");
        }
        format!(
            "{here}; PostgreSQL {} with fsync {} and synchronous_commit {}",
            known("server_version"),
            known("fsync"),
            known("synchronous_commit"),
        )
    }
}

/// The first `name: value` of a file of /proc.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}

async fn settings(url: &str) -> anyhow::Result<BTreeMap<String, String>> {
    database::with(url, async |client| {
        let rows = client.query(include_str!("settings.sql"), &[]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    })
    .await
}
