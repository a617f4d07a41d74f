//! What processes have used, from /proc (proc(5)); nothing where there is none, as on macOS.

use std::fs;

/// `USER_HZ`: the unit of the times in /proc/…/stat, fixed at 100 on every platform that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU seconds, user and system, of each part since it was started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// The API.
    pub(super) api: Option<f64>,
    /// The puller.
    pub(super) puller: Option<f64>,
    /// PostgreSQL, all its processes together.
    pub(super) postgres: Option<f64>,
    /// The bench itself: the clients that enqueue, and the sink.
    pub(super) bench: Option<f64>,
}

impl Spent {
    /// Since an earlier look, per `count`.
    pub(super) fn since(self, earlier: Self, count: f64) -> Self {
        let less = |now: Option<f64>, then: Option<f64>| Some((now? - then?) / count);
        Self {
            api: less(self.api, earlier.api),
            puller: less(self.puller, earlier.puller),
            postgres: less(self.postgres, earlier.postgres),
            bench: less(self.bench, earlier.bench),
        }
    }
}

/// CPU seconds of one process.
pub(super) fn cpu(id: u32) -> Option<f64> {
    let stat = Stat::read(&id.to_string())?;
    Some(stat.own / TICKS_PER_SECOND)
}

/// CPU seconds of a process, its living children, and its children that have ended.
pub(super) fn cpu_of_family(id: u32) -> Option<f64> {
    let head = Stat::read(&id.to_string())?;
    let names = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
    });
    let stats = names.filter_map(|name| Stat::read(&name));
    let children: f64 = stats.filter(|stat| stat.parent == id).map(|stat| stat.own).sum();
    Some((head.own + head.ended_children + children) / TICKS_PER_SECOND)
}

/// The most memory that a process has had, resident, in MiB.
pub(super) fn peak_memory(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

/// What is used of /proc/…/stat; times in ticks.
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    own: f64,
    ended_children: f64,
}

impl Stat {
    fn read(id: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// The second field is the program's name in brackets, which may hold anything; so the fields
    /// are counted from the last bracket, where the third one, the state, follows.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        // utime, stime, cutime and cstime are the fields 14 to 17.
        let mut times = fields.skip(9).map(|field| field.parse::<f64>().ok());
        let own = times.next()?? + times.next()??;
        let ended_children = times.next()?? + times.next()??;
        Some(Self { parent, own, ended_children })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let text = "42 (a) b 7 (x)) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 30 20 20 0 1 0 100 1 1";
        let stat = Stat { parent: 7, own: 200.0, ended_children: 50.0 };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse("42 (cut"), None);
    }
}
