//! The documents tell the truth: what they copy from the code equals the code, what they link to is
//! there, and the targets they show do run jobs to success.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use axle::client::Client;
use axle::domain::signature::{Message, SigningSecret};
use axle::domain::state::diagram;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::support::callback::client;

/// Where the documents' examples expect the server, and the target.
const SERVER: &str = "http://127.0.0.1:8080";
const TARGET: &str = "http://127.0.0.1:8000";
/// A PostgreSQL is made meanwhile, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_mins(1);
const PERIOD: Duration = Duration::from_millis(20);

#[test]
fn the_diagram_is_that_of_the_table() {
    assert_eq!(blocks(&read("README.md"), "mermaid"), [diagram()]);
}

#[test]
fn the_settings_are_those_of_the_program() {
    let text = read("docs/configuration.md");
    let table = between(&text, "<!-- settings: begin -->\n", "<!-- settings: end -->");
    assert_eq!(table.trim(), axle::config::markdown().trim());
}

#[test]
fn the_readme_has_fewer_than_150_lines() {
    let lines = read("README.md").lines().count();
    assert!(lines < 150, "{lines}");
}

#[test]
fn every_link_leads_somewhere() {
    for name in documents() {
        let text = read(&name);
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if path.is_empty() { root().join(&name) } else { folder.join(path) };
            assert!(file.exists(), "{name}: {link}");
            if !heading.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                assert!(anchors(&text).contains(heading), "{name}: {link}");
            }
        }
    }
}

#[test]
fn every_variable_is_a_setting() {
    let table = axle::config::markdown();
    let mut known: BTreeSet<_> = words(&table, "AXLE_").collect();
    // It names the file of settings, so it is none.
    known.insert("AXLE_CONFIG");
    known.extend(axle::config::REMOTE_VARIABLES);
    // The password of a person is none either.
    known.insert("AXLE_ADMIN_PASSWORD");
    for name in documents() {
        for word in words(&read(&name), "AXLE_") {
            // `AXLE_…` and `AXLE_JWT_…` stand for all of a kind.
            let setting = word.strip_suffix("_FILE").unwrap_or(word);
            let kind = word.ends_with('_') && known.iter().any(|known| known.starts_with(word));
            assert!(kind || known.contains(setting), "{name}: {word}");
        }
    }
}

#[test]
fn every_metric_is_one_of_the_program() {
    let list = read("src/telemetry/metrics.rs");
    for word in words(&read("docs/operations.md"), "axle_") {
        assert!(list.contains(&format!("\"{word}\"")), "{word}");
    }
}

#[tokio::test]
async fn the_readmes_jobs_and_its_target_succeed() {
    let readme = read("README.md");
    let target = script(&readme, "python", "python3");
    jobs_succeed(&readme, target).await;
}

#[tokio::test]
async fn the_target_in_python_succeeds() {
    verified_target_succeeds("python", "python3").await;
}

#[tokio::test]
async fn the_target_in_node_succeeds() {
    verified_target_succeeds("js", "node").await;
}

#[tokio::test]
async fn the_target_in_rust_succeeds() {
    let text = read("docs/targets.md");
    let [shown] = blocks(&text, "rust").try_into().expect("one target in Rust");
    assert!(
        read("examples/target.rs").ends_with(&shown),
        "docs/targets.md shows examples/target.rs"
    );
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--locked", "--quiet", "--example", "target"];
    assert!(Command::new(cargo).args(build).current_dir(root()).status().unwrap().success());
    let folder = Path::new(env!("CARGO_BIN_EXE_axle")).parent().unwrap();
    let target = (None, Command::new(folder.join("examples/target")));
    jobs_succeed(&section(&text, "rust"), target).await;
}

/// Runs the target of docs/targets.md in this language.
async fn verified_target_succeeds(language: &str, program: &str) {
    let text = section(&read("docs/targets.md"), language);
    let target = script(&text, language, program);
    jobs_succeed(&text, target).await;
}

/// The one target that `text` shows in `language`, ready to be run.
fn script(text: &str, language: &str, program: &str) -> Shown {
    let [target] = blocks(text, language).try_into().expect("one target in this language");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("target"), target).unwrap();
    let mut command = Command::new(program);
    command.arg("target").current_dir(folder.path());
    (Some(folder), command)
}

/// A target that a document shows, and the folder that it lies in.
type Shown = (Option<tempfile::TempDir>, Command);

/// Runs a target, posts every job that `text` shows, and sees each succeed. A target that verifies
/// its calls is then called by somebody else.
async fn jobs_succeed(text: &str, (_folder, mut target): Shown) {
    let server = Running::start(axle_dev(), "Axle serves ");
    let made = client().post(format!("{}/v1/signing/secrets", server.url)).send().await.unwrap();
    let made: Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
    let secret = made["secret"].as_str().expect("it is shown once").to_owned();
    // Two, as while they rotate.
    target.env("SIGNING_SECRETS", format!("whsec_{} {secret}", "A".repeat(32))).env("PORT", "0");
    let target = Running::start(target, "listening on ");
    let jobs = bodies(text);
    assert!(!jobs.is_empty(), "no job is shown");
    for job in jobs {
        succeeds(&server.url, &job.replace(SERVER, &server.url).replace(TARGET, &target.url)).await;
    }
    if text.contains("SIGNING_SECRETS") {
        only_ours_are_taken(&target.url, &SigningSecret::parse(&secret).unwrap()).await;
    }
}

/// Calls a target as Axle does, again as a proxy might, late, and as somebody who does not know the
/// secret or alters what was signed.
async fn only_ours_are_taken(url: &str, secret: &SigningSecret) {
    let now = axle::engine::clock::system_now().timestamp();
    let call = async |fence: i32, offset: i64, alter: Option<(&str, &str)>| {
        let (run, fence, at) = (format!("run_x_{fence}"), fence.to_string(), now + offset);
        let (stamp, body) = (at.to_string(), r#"{"order": 42}"#);
        let message = Message {
            job: "job_x",
            run: &run,
            fence: &fence,
            timestamp: &stamp,
            body: body.as_bytes(),
        };
        let secrets = std::slice::from_ref(secret);
        let headers = [
            ("webhook-id", "job_x".to_owned()),
            ("webhook-timestamp", stamp.clone()),
            ("webhook-signature", message.signature(secrets)),
            ("axle-signature", message.run_signature(secrets)),
            ("axle-job-id", "job_x".to_owned()),
            ("axle-run-id", run.clone()),
            ("axle-fence", fence.clone()),
            ("axle-callback-url", "http://127.0.0.1:9/callback?token=x".to_owned()),
        ];
        let altered = |name: &str| alter.filter(|(key, _)| *key == name).map(|(_, value)| value);
        let body = altered("body").unwrap_or(body).to_owned();
        let mut request = client().post(url).body(body);
        for (name, value) in &headers {
            request = request.header(*name, altered(name).unwrap_or(value));
        }
        request.send().await.unwrap().status().as_u16()
    };
    for alter in [
        ("body", r#"{"order":42}"#),
        ("webhook-id", "job_y"),
        ("webhook-signature", ""),
        ("webhook-signature", "v1,AAAA v1a,x \u{e9}"),
        ("axle-signature", ""),
        ("axle-run-id", "run_x_2"),
        ("axle-fence", "9"),
        ("axle-job-id", "job_y"),
        ("webhook-timestamp", "NaN"),
        ("webhook-timestamp", ""),
    ] {
        assert_eq!(call(1, 0, Some(alter)).await, 401, "{alter:?}");
    }
    for (offset, taken) in [(-290, true), (-320, false), (30, true), (90, false), (-86_400, false)]
    {
        assert_eq!(call(1, offset, None).await != 401, taken, "{offset} s");
    }
    let first = call(2, 0, None).await;
    assert!([200, 202].contains(&first), "{first}");
    assert_eq!(call(2, 0, None).await, first, "a run that comes again");
    assert_eq!(call(1, 0, None).await, 409, "a run that was given up");
}

/// Posts a job as it stands in a document and follows it to its end.
async fn succeeds(server: &str, job: &str) {
    let request = client()
        .post(format!("{server}/v1/jobs"))
        .header("Content-Type", "application/json")
        .body(job.to_owned());
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let registered: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(status, 201, "{job}: {registered}");
    let api = Client::new(server, None).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = api.job(registered["id"].as_str().unwrap()).await.unwrap();
        if seen.state == "SUCCESS" {
            return;
        }
        let waits = ["PENDING", "RUNNING"].contains(&seen.state.as_str());
        assert!(waits && Instant::now() < deadline, "{job}: {seen:?}");
        sleep(PERIOD).await;
    }
}

/// A server with a database of its own, on free ports.
fn axle_dev() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axle"));
    // A database that the environment names is not ours to use.
    let foreign = |name: &str| {
        name.starts_with("AXLE_")
            || name == "DATABASE_URL"
            || name.starts_with("PG") && name != "PG_BIN"
    };
    let kept = std::env::vars_os().filter(|(name, _)| !name.to_str().is_some_and(foreign));
    command.env_clear().envs(kept).env("AXLE_ADMIN_LISTEN", "127.0.0.1:0");
    command.args(["dev", "--ephemeral", "--listen", "127.0.0.1:0"]);
    command
}

/// A program that has said where it listens. It is ended, in order, when the test ends in any way: an
/// `axle dev` that is killed leaves its PostgreSQL behind.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    /// Starts it and waits for the line that begins with `said` and goes on with its URL.
    fn start(mut command: Command, said: &'static str) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut this = Self { child, url: String::new() };
        let (sender, receiver) = channel();
        // It reads to the end, so that what is said later fills no pipe.
        std::thread::spawn(move || {
            let urls = output.lines().map_while(Result::ok).filter_map(|line| {
                let rest = line.strip_prefix(said)?;
                rest.split_whitespace().next().map(str::to_owned)
            });
            urls.for_each(|url| drop(sender.send(url)));
        });
        this.url = receiver.recv_timeout(PATIENCE).expect("it says where it listens");
        this
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        // Nobody is there to tell if it has ended already.
        _ = kill_process(pid, Signal::TERM);
        drop(self.child.wait());
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The documents at the top and in `docs/`, by their path from the top.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "docs"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                found.push(Path::new(folder).join(name).to_str().unwrap().to_owned());
            }
        }
    }
    assert!(found.len() >= 5, "{found:?}");
    found
}

/// The section that shows code of this language.
fn section(text: &str, language: &str) -> String {
    let mut sections = text.split("\n## ");
    let found = sections.find(|section| section.contains(&format!("```{language}\n")));
    found.unwrap().to_owned()
}

/// The code blocks of this language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let parts = text.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

/// The jobs that the examples for curl post.
fn bodies(text: &str) -> Vec<String> {
    let shell = blocks(text, "sh").concat();
    let parts = shell.split("-d '").skip(1);
    parts.map(|part| part.split('\'').next().unwrap().to_owned()).collect()
}

fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = text.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

/// What Markdown's inline links point to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap())
}

/// The anchors of the headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let title = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    title
        .map(|title| {
            let kept =
                title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// The words that begin so, each a run of ASCII letters, digits and underscores.
fn words<'t>(text: &'t str, prefix: &str) -> impl Iterator<Item = &'t str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_part(c)).filter(move |word| word.starts_with(prefix))
}
