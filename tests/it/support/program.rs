//! Runs the real program: with which environment, until it ends, and how it is signalled. It knows
//! nothing of what the program does.

use std::fmt::{self, Debug, Formatter};
use std::io::{BufRead as _, BufReader, PipeReader};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::target::PATIENCE;

/// Names and values of environment variables.
pub type Env<'a> = &'a [(&'a str, &'a str)];

/// Lines that a program prints, as they come.
#[derive(Clone)]
pub struct Lines(Arc<watch::Sender<Vec<String>>>);

impl Lines {
    /// Reads `pipe` to its end, on a thread of its own: a test may be busy, or over.
    fn of(pipe: PipeReader) -> Self {
        let lines = Self(Arc::new(watch::Sender::new(Vec::new())));
        let kept = lines.clone();
        let read = move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                kept.0.send_modify(|lines| lines.push(line));
            }
        };
        thread::Builder::new().name("lines".into()).spawn(read).expect("a thread starts");
        lines
    }

    /// What was printed so far.
    pub fn so_far(&self) -> String {
        self.0.borrow().join("\n")
    }

    /// Waits for a line that holds `words`, and returns it.
    pub async fn with(&self, words: &str) -> String {
        let mut lines = self.0.subscribe();
        let find = |lines: &Vec<String>| lines.iter().find(|line| line.contains(words)).cloned();
        let found = async {
            let lines = lines.wait_for(|lines| find(lines).is_some()).await;
            lines.ok().and_then(|lines| find(&lines))
        };
        match timeout(PATIENCE, found).await {
            Ok(Some(line)) => line,
            _ => panic!("no line with {words:?} within {PATIENCE:?} in:\n{}", self.so_far()),
        }
    }
}

/// A running program; killed when dropped. In a test that fails, what it printed is shown.
pub struct Program {
    /// What it prints on standard output.
    pub out: Lines,
    /// What it prints on standard error.
    pub err: Lines,
    name: String,
    child: Child,
    pid: Pid,
}

impl Program {
    /// Starts `axle` with these arguments and nothing of our environment but the search path.
    pub fn start(args: &[&str], env: Env<'_>) -> Self {
        let (out, out_end) = std::io::pipe().expect("a pipe opens");
        let (err, err_end) = std::io::pipe().expect("a pipe opens");
        let mut command = Command::new(env!("CARGO_BIN_EXE_axle"));
        command.args(args).env_clear().envs(env.iter().copied()).kill_on_drop(true);
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
        command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
        let child = command.spawn().expect("axle starts");
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let pid = pid.expect("a started process has an id");
        let name = args.join(" ");
        Self { out: Lines::of(out), err: Lines::of(err), name, child, pid }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("a process that was not waited for can be signalled");
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The most memory that it ever had, in KiB (Linux).
    pub fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let words = line.and_then(|line| line.split_whitespace().next());
        words.and_then(|kib| kib.parse().ok()).expect("Linux tells the peak")
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self, within: Duration) -> ExitStatus {
        let Ok(ended) = timeout(within, self.child.wait()).await else {
            panic!("axle {} still runs after {within:?}", self.name);
        };
        ended.expect("a child can be waited for")
    }

    /// Ends it at once, as the kernel does when memory is short.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended(PATIENCE).await;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("{self:?}");
        }
    }
}

/// All that it printed.
impl Debug for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "---- axle {}\n{}\n{}", self.name, self.out.so_far(), self.err.so_far())
    }
}

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status; none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs `axle` to its end.
pub async fn axle(args: &[&str], env: Env<'_>) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axle"));
    command.args(args).env_clear().envs(env.iter().copied()).kill_on_drop(true);
    command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH")).stdin(Stdio::null());
    let output = timeout(PATIENCE, command.output()).await.expect("it ends");
    let output = output.expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Asks `look` again and again until it gives something; panics after `within`.
pub async fn eventually<T, L>(what: &str, within: Duration, mut look: impl FnMut() -> L) -> T
where
    L: Future<Output = Option<T>>,
{
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let found = timeout(within, found).await;
    found.unwrap_or_else(|_| panic!("not within {within:?}: {what}"))
}
