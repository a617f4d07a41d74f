//! From a line of a crontab to the definition of a schedule: its name, its times, and what its jobs
//! call in the place of the command. Pure.

use serde_json::{Value, json};
use url::Url;

use super::read::{Entry, reason};
use crate::domain::schedule::cron::Cron;

/// What all the schedules of an import share.
#[derive(Clone, Debug)]
pub struct Mould {
    /// What their names begin with.
    pub prefix: String,
    /// The address to call, with `{name}` and `{line}` for those of the schedule.
    pub url: String,
    /// The zone of lines under no other.
    pub zone: Option<String>,
    /// What happens while an earlier job is unfinished.
    pub overlap: String,
}

/// A schedule to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The line that it comes from.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its definition, as the API takes it.
    pub definition: Value,
}

impl Mould {
    /// Says what is wrong with the template, whatever the line.
    pub fn check(&self) -> Result<(), String> {
        let url = self.address("name", 1);
        if let Some((_, rest)) = url.split_once('{') {
            let word = rest.split('}').next().unwrap_or(rest);
            return Err(format!("{{{word}}} is unknown; there are {{name}} and {{line}}"));
        }
        match Url::parse(&url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
            Ok(url) => Err(format!("its scheme is {:?}; it must be http or https", url.scheme())),
            Err(error) => Err(format!("{error}; write a URL such as https://host/{{name}}")),
        }
    }

    /// The schedule of a line, or why there can be none.
    pub fn plan(&self, entry: &Entry) -> Result<Planned, String> {
        Cron::parse(&entry.cron, false, "#/spec/cron").map_err(|invalid| reason(&invalid))?;
        let name = self.name(entry);
        let mut payload = json!({"command": entry.command});
        let mut definition = json!({
            "name": name,
            "spec": {"cron": entry.cron},
            "overlap": self.overlap,
        });
        add(&mut payload, "user", entry.user.as_deref());
        add(&mut payload, "stdin", entry.stdin.as_deref());
        add(&mut definition, "time_zone", entry.zone.as_deref().or(self.zone.as_deref()));
        let job = json!({"target": {"url": self.address(&name, entry.line)}, "payload": payload});
        if let Some(members) = definition.as_object_mut() {
            members.insert("job".to_owned(), job);
        }
        Ok(Planned { line: entry.line, name, definition })
    }

    /// Prefix, line and command; the line keeps it unique within its file.
    fn name(&self, entry: &Entry) -> String {
        let word = slug(program(&entry.command));
        let between = if word.is_empty() { "" } else { "-" };
        format!("{}-{}{between}{word}", self.prefix, entry.line)
    }

    fn address(&self, name: &str, line: usize) -> String {
        self.url.replace("{name}", name).replace("{line}", &line.to_string())
    }
}

fn add(object: &mut Value, key: &str, text: Option<&str>) {
    if let (Some(text), Some(members)) = (text, object.as_object_mut()) {
        members.insert(key.to_owned(), text.into());
    }
}

/// The word of a shell command that best says what it does: not a variable, a change of directory, a
/// test, or a program that only starts another.
fn program(command: &str) -> &str {
    let parts = command.split(['&', '|', ';']).map(str::trim).filter(|part| !part.is_empty());
    let named = parts.filter_map(|part| {
        let mut words = part.split_ascii_whitespace().filter(|word| {
            let assigns = word.split_once('=').is_some_and(|(name, _)| {
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            });
            !assigns && !STARTERS.contains(word) && !word.starts_with('-')
        });
        words.next()
    });
    let mut first = None;
    for word in named {
        if !STEPS.contains(&word) {
            return word;
        }
        first = first.or(Some(word));
    }
    first.unwrap_or_default()
}

/// Programs that are told another one to run.
const STARTERS: [&str; 7] = ["env", "exec", "ionice", "nice", "nohup", "sudo", "time"];
/// Commands that only prepare for the next one.
const STEPS: [&str; 8] = [".", "[", "[[", "cd", "export", "sleep", "source", "test"];

/// The last part of a path, in the letters of a name.
fn slug(word: &str) -> String {
    const MOST: usize = 40;
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
    let mut text = String::new();
    for c in last.chars().take(MOST) {
        if c.is_ascii_alphanumeric() {
            text.push(c.to_ascii_lowercase());
        } else if !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
    }
    text.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::crontab::read::{Form, read};

    fn mould() -> Mould {
        Mould {
            prefix: "crontab".to_owned(),
            url: "https://host/{name}?line={line}".to_owned(),
            zone: Some("Europe/Berlin".to_owned()),
            overlap: "allow".to_owned(),
        }
    }

    fn plan(line: &str) -> Result<Planned, String> {
        mould().plan(&read(line, Form::User).entries[0])
    }

    #[test]
    fn a_line_becomes_a_definition() {
        let planned = plan("30 2 * * 1-5 /opt/backup.sh --to s3%yes").unwrap();
        assert_eq!(planned.name, "crontab-1-backup-sh");
        assert_eq!(
            planned.definition,
            json!({
                "name": "crontab-1-backup-sh",
                "spec": {"cron": "30 2 * * 1-5"},
                "time_zone": "Europe/Berlin",
                "overlap": "allow",
                "job": {
                    "target": {"url": "https://host/crontab-1-backup-sh?line=1"},
                    "payload": {"command": "/opt/backup.sh --to s3", "stdin": "yes\n"},
                },
            })
        );
    }

    #[test]
    fn a_zone_of_the_file_is_stronger_than_the_flag() {
        let crontab = read("TZ=Asia/Tokyo\n@hourly x", Form::User);
        let planned = mould().plan(&crontab.entries[0]).unwrap();
        assert_eq!(planned.definition["time_zone"], "Asia/Tokyo");
    }

    #[test]
    fn names_come_from_what_the_command_does() {
        for (command, name) in [
            ("/usr/local/bin/backup.sh", "crontab-1-backup-sh"),
            ("cd /srv/app && ./manage.py clear", "crontab-1-manage-py"),
            ("[ -x /usr/bin/certbot ] && certbot renew", "crontab-1-certbot"),
            ("PATH=/bin nice -n19 Report_Daily", "crontab-1-report-daily"),
            ("FOO=1 sudo /opt/x/", "crontab-1-x"),
            ("cd /tmp", "crontab-1-cd"),
            ("«»", "crontab-1"),
        ] {
            assert_eq!(plan(&format!("@daily {command}")).unwrap().name, name, "{command}");
        }
    }

    #[test]
    fn times_that_the_grammar_refuses_say_why() {
        for (line, why) in [
            ("@reboot x", "a schedule knows times only"),
            ("0 22-6 * * * x", "write 22-23,0-6"),
            ("0 0~5 * * * x", "no random values"),
            ("0 0 31 2 * x", "it never fires"),
        ] {
            let reason = plan(line).unwrap_err();
            assert!(reason.contains(why), "{line}: {reason}");
        }
    }

    #[test]
    fn a_template_must_become_an_address() {
        let check = |url: &str| Mould { url: url.to_owned(), ..mould() }.check();
        assert_eq!(check("http://127.0.0.1:1/x"), Ok(()));
        assert!(check("https://host/{command}").unwrap_err().contains("{command} is unknown"));
        assert!(check("host/{name}").unwrap_err().contains("such as https://host/{name}"));
        assert!(check("ftp://host/").unwrap_err().contains("must be http or https"));
    }
}
