//! Reads a crontab as `crontab(5)` has it: comments, variables, times, users, commands and what they
//! read from standard input. Pure; whether a time can be taken is `plan`'s question.

use crate::domain::invalid::Invalid;
use crate::domain::schedule::zone::zone;

/// The two forms of a crontab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As `crontab -l` prints it.
    User,
    /// As `/etc/crontab` and `/etc/cron.d` have it: with the user between times and command.
    System,
}

/// A line that asks for a command at some times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the file, from 1.
    pub line: usize,
    /// The times: five fields, or a word that begins with `@`.
    pub cron: String,
    /// The zone that a line above has set.
    pub zone: Option<String>,
    /// Who would run the command.
    pub user: Option<String>,
    /// What would be run, with `\%` read as cron does.
    pub command: String,
    /// What stands behind the first `%`, which cron gives the command on standard input.
    pub stdin: Option<String>,
}

/// A line that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its number in the file, from 1.
    pub line: usize,
    /// Why, and what would be right.
    pub reason: String,
}

/// A crontab, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crontab {
    /// What it asks for, in its order.
    pub entries: Vec<Entry>,
    /// Lines that say something that is not taken.
    pub refused: Vec<Refused>,
}

/// What holds for the times of the lines that follow.
#[derive(Default)]
struct Zone {
    /// None: nothing was said. An error: the line that set a zone that does not exist.
    name: Option<Result<String, usize>>,
    /// Where `CRON_TZ`, which decides about times alone, was set last.
    cron_tz: Option<usize>,
}

/// Reads a whole file.
pub fn read(text: &str, form: Form) -> Crontab {
    let mut crontab = Crontab::default();
    let mut zone = Zone::default();
    for (at, text) in text.lines().enumerate() {
        let line = at + 1;
        let text = text.trim_start_matches(BLANKS).trim_end_matches(['\r', ' ', '\t']);
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let read = match variable(text) {
            Some((name, value)) => zone.set(line, name, value),
            None => entry(line, text, form, &zone).map(|entry| crontab.entries.push(entry)),
        };
        if let Err(reason) = read {
            crontab.refused.push(Refused { line, reason });
        }
    }
    crontab
}

const BLANKS: [char; 2] = [' ', '\t'];

impl Zone {
    fn set(&mut self, line: usize, name: &str, value: &str) -> Result<(), String> {
        match (name, self.cron_tz) {
            ("CRON_TZ", _) => self.cron_tz = (!value.is_empty()).then_some(line),
            ("TZ", None) => {}
            ("TZ", Some(above)) => {
                return Err(format!("TZ is not taken: CRON_TZ in line {above} sets the zone"));
            }
            _ => {
                return Err(format!(
                    "{name} is not taken: a schedule calls a URL and has no environment; set it \
                     where the command runs"
                ));
            }
        }
        // TZ may also name a file, with a colon in front, and that file is the zone's.
        let value = value.trim_start_matches(':');
        if value.is_empty() {
            self.name = None;
            return Ok(());
        }
        let known = zone(value, name);
        self.name = Some(if known.is_ok() { Ok(value.to_owned()) } else { Err(line) });
        known.map(drop).map_err(|invalid| format!("{name} is not taken: {}", reason(&invalid)))
    }
}

/// `NAME=value`, with the quotes and spaces that cron allows. No line with times has a letter in
/// front, so nothing else is mistaken for one.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = unquoted(name.trim_matches(BLANKS));
    let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name, unquoted(value.trim_matches(BLANKS))))
}

fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

fn entry(line: usize, text: &str, form: Form, zone: &Zone) -> Result<Entry, String> {
    let count = if text.starts_with('@') { 1 } else { 5 };
    let (times, rest) = take(text, count);
    if rest.is_empty() {
        return Err(if times.len() < count {
            format!("five fields and a command are expected, got {:?}", shortened(text))
        } else {
            "no command stands behind the times".to_owned()
        });
    }
    let (user, rest) = match form {
        Form::User => (None, rest),
        Form::System => {
            let (user, rest) = take(rest, 1);
            (user.first().map(|user| (*user).to_owned()), rest)
        }
    };
    if rest.is_empty() {
        return Err("no command stands behind the user; a user's own crontab is read without \
                    --system"
            .to_owned());
    }
    let zone = match &zone.name {
        Some(Err(line)) => return Err(format!("line {line} sets a zone that does not exist")),
        Some(Ok(name)) => Some(name.clone()),
        None => None,
    };
    let (command, stdin) = at_percent(rest);
    Ok(Entry { line, cron: times.join(" "), zone, user, command, stdin })
}

/// The first `count` words, or fewer, and what stands behind them.
fn take(text: &str, count: usize) -> (Vec<&str>, &str) {
    let (mut words, mut rest) = (Vec::new(), text.trim_start_matches(BLANKS));
    while words.len() < count && !rest.is_empty() {
        let (word, behind) = rest.split_once(BLANKS).unwrap_or((rest, ""));
        words.push(word);
        rest = behind.trim_start_matches(BLANKS);
    }
    (words, rest)
}

/// Splits at the first `%` that no backslash precedes; each further one is a line break.
fn at_percent(text: &str) -> (String, Option<String>) {
    let (mut command, mut stdin) = (String::new(), None::<String>);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let c = if c == '\\' && chars.next_if_eq(&'%').is_some() {
            '%'
        } else if c == '%' && stdin.is_none() {
            stdin = Some(String::new());
            continue;
        } else if c == '%' {
            '\n'
        } else {
            c
        };
        stdin.as_mut().unwrap_or(&mut command).push(c);
    }
    // As cron does, so that the last line is one.
    let ended = stdin.map(|text| if text.ends_with('\n') { text } else { text + "\n" });
    (command.trim_end_matches(BLANKS).to_owned(), ended)
}

/// Every fault, in one sentence.
pub(super) fn reason(invalid: &Invalid) -> String {
    let details: Vec<_> = invalid.0.iter().map(|fault| fault.detail.as_str()).collect();
    details.join("; ")
}

/// Enough of a line to know it again.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(crontab: &Crontab) -> Vec<(usize, &str)> {
        crontab.refused.iter().map(|refused| (refused.line, refused.reason.as_str())).collect()
    }

    #[test]
    fn times_and_command_are_told_apart_whatever_the_spaces() {
        let text = "# m h dom mon dow command\n\n\t30  2 * *\t1-5   /opt/backup.sh  --all \r\n\
                    @daily echo 'a = b'\n";
        let crontab = read(text, Form::User);
        assert_eq!(crontab.refused, []);
        let told: Vec<_> =
            crontab.entries.iter().map(|e| (e.line, e.cron.as_str(), e.command.as_str())).collect();
        assert_eq!(
            told,
            [(3, "30 2 * * 1-5", "/opt/backup.sh  --all"), (4, "@daily", "echo 'a = b'")]
        );
    }

    #[test]
    fn the_system_form_has_a_user() {
        let crontab = read("17 * * * * root cd / && run-parts /etc/cron.hourly\n", Form::System);
        let entry = &crontab.entries[0];
        assert_eq!(entry.user.as_deref(), Some("root"));
        assert_eq!(entry.command, "cd / && run-parts /etc/cron.hourly");
        let without = read("17 * * * * run\n", Form::System);
        assert!(reasons(&without)[0].1.contains("without --system"), "{without:?}");
    }

    #[test]
    fn percent_signs_are_read_as_cron_reads_them() {
        let read = |command: &str| {
            let entry = read(&format!("0 0 * * * {command}"), Form::User).entries.remove(0);
            (entry.command, entry.stdin)
        };
        assert_eq!(read(r"date +\%F"), ("date +%F".to_owned(), None));
        let mail = read(r"mail ops%Hi,%%50\% done%");
        assert_eq!(mail, ("mail ops".to_owned(), Some("Hi,\n\n50% done\n".to_owned())));
        assert_eq!(read(r"grep '\d'"), (r"grep '\d'".to_owned(), None));
    }

    #[test]
    fn zones_hold_for_the_lines_below_and_other_variables_are_named() {
        let text = "0 1 * * * a\nCRON_TZ = \"Europe/Berlin\"\n0 1 * * * b\nTZ=Asia/Tokyo\n\
                    0 1 * * * c\nCRON_TZ=\n0 1 * * * d\nTZ=:Asia/Tokyo\n0 1 * * * e\n\
                    MAILTO=root\n";
        let crontab = read(text, Form::User);
        let zones: Vec<_> = crontab.entries.iter().map(|e| e.zone.as_deref()).collect();
        let berlin = Some("Europe/Berlin");
        assert_eq!(zones, [None, berlin, berlin, None, Some("Asia/Tokyo")]);
        let refused = reasons(&crontab);
        assert_eq!(refused.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 10]);
        assert!(refused[0].1.contains("CRON_TZ in line 2") && refused[1].1.starts_with("MAILTO"));
    }

    #[test]
    fn lines_under_a_zone_that_does_not_exist_are_not_taken_in_another() {
        let crontab = read("CRON_TZ=Berlin\n0 1 * * * a\nCRON_TZ=UTC\n0 1 * * * b", Form::User);
        assert_eq!(crontab.entries.len(), 1);
        let refused = reasons(&crontab);
        assert!(refused[0].1.contains("write Europe/Berlin"), "{refused:?}");
        assert_eq!(refused[1], (2, "line 1 sets a zone that does not exist"));
    }

    #[test]
    fn lines_without_command_are_named() {
        let crontab = read("0 1 * * *\n0 1 *\n@daily\n", Form::User);
        let refused = reasons(&crontab);
        assert_eq!(refused.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(refused[1].1.contains("five fields"), "{refused:?}");
    }
}
