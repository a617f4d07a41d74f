//! The API's documents of schedules as people read them: lines of one schedule, tables of several.
//! What a document lacks is left out, so that an older or newer server can be read too.

use serde_json::Value;

/// One schedule, a line for each thing worth knowing.
pub fn schedule(view: &Value) -> String {
    let mut rows = Vec::new();
    let mut row = |label: &str, text: String| {
        if !text.is_empty() {
            rows.push(vec![label.to_owned(), text]);
        }
    };
    row("name", text(view, "name"));
    row("id", text(view, "id"));
    row("state", with(text(view, "state"), &text(view, "reason"), ": "));
    row("fires", text(view, "description"));
    row("next", with(text(view, "next_fire_local"), &time(view, "next_fire_at"), "  "));
    row("last", time(view, "last_fire_at"));
    row("fired", text(view, "fires"));
    row("overlap", text(view, "overlap"));
    row("catch-up", text(at(view, &["catch_up"]), "policy"));
    let target = at(view, &["job", "target"]);
    row("calls", with(text(target, "method"), &text(target, "url"), " "));
    row("queue", text(at(view, &["job"]), "queue"));
    row("version", text(view, "version"));
    table(&rows)
}

/// Several schedules.
pub fn schedules(views: &[Value]) -> String {
    if views.is_empty() {
        return "no schedules".to_owned();
    }
    let mut rows = vec![head(&["NAME", "STATE", "NEXT", "FIRES"])];
    rows.extend(views.iter().map(|view| {
        let next = with(text(view, "next_fire_local"), "", "");
        let next = if next.is_empty() { "-".to_owned() } else { next };
        vec![text(view, "name"), text(view, "state"), next, text(view, "description")]
    }));
    table(&rows)
}

/// Fires that will be.
pub fn expected(fires: &[Value]) -> String {
    if fires.is_empty() {
        return "it will not fire any more".to_owned();
    }
    let rows = fires.iter().map(|fire| {
        let outcome = Some(text(fire, "outcome")).filter(|outcome| outcome != "expected");
        vec![text(fire, "local"), instant(fire), outcome.unwrap_or_default(), notes(fire)]
    });
    table(&rows.collect::<Vec<_>>())
}

/// What became of fires, newest first.
pub fn past(fires: &[Value]) -> String {
    if fires.is_empty() {
        return "no fires yet".to_owned();
    }
    let mut rows = vec![head(&["TIME", "OUTCOME", "COUNT", "ORIGIN", "JOB"])];
    rows.extend(fires.iter().map(|fire| {
        // One row may tell of several fire times, up to `until`.
        let is_least = at(fire, &["at_least"]).as_bool().unwrap_or_default();
        let count = Some(text(fire, "count")).filter(|count| count != "1" || is_least);
        let count = count.map(|count| if is_least { format!("{count}+") } else { count });
        vec![
            with(instant(fire), &time(fire, "until"), " to "),
            text(fire, "outcome"),
            count.unwrap_or_default(),
            text(fire, "origin"),
            text(fire, "job_id"),
        ]
    }));
    table(&rows)
}

/// What a backfill makes or would make.
pub fn backfill(answer: &Value) -> String {
    let fires = at(answer, &["fires"]).as_array().map(Vec::as_slice).unwrap_or_default();
    let is_dry = at(answer, &["dry_run"]).as_bool().unwrap_or_default();
    let verb = if is_dry { "would make" } else { "made" };
    let jobs = if fires.len() == 1 { "job" } else { "jobs" };
    let rows: Vec<_> = fires.iter().map(|fire| vec![instant(fire), text(fire, "job_id")]).collect();
    with(format!("{verb} {} {jobs}", fires.len()), &table(&rows), "\n")
}

/// What a trigger did.
pub fn triggered(answer: &Value) -> String {
    let job = text(answer, "job_id");
    if job.is_empty() {
        return format!(
            "{}: no job was made, because an earlier one is unfinished; --overlap allow makes one",
            text(answer, "outcome")
        );
    }
    let waits = at(answer, &["waiting"]).as_bool().unwrap_or_default();
    format!("{} {job}{}", text(answer, "outcome"), if waits { " (waits for its turn)" } else { "" })
}

/// The member as a word or number; empty if there is none.
pub fn text(view: &Value, key: &str) -> String {
    match view.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

fn at<'a>(view: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(view, |view, key| view.get(key).unwrap_or(&Value::Null))
}

fn instant(fire: &Value) -> String {
    let named = time(fire, "fire_at");
    if named.is_empty() { time(fire, "at") } else { named }
}

/// An instant, without its microseconds where they are none.
fn time(view: &Value, key: &str) -> String {
    text(view, key).replace(".000000Z", "Z")
}

fn notes(fire: &Value) -> String {
    let notes = at(fire, &["notes"]).as_array().map(Vec::as_slice).unwrap_or_default();
    notes.iter().map(|note| text(note, "text")).collect::<Vec<_>>().join("; ")
}

fn with(first: String, second: &str, between: &str) -> String {
    if first.is_empty() || second.is_empty() { first + second } else { first + between + second }
}

/// The head of a table.
pub fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Columns as wide as their widest cell; nothing is cut, and no line ends in spaces.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell = |row: &Vec<String>, n: usize| row.get(n).map_or(0, |cell| cell.chars().count());
    let widths: Vec<_> = (0..columns)
        .map(|n| rows.iter().map(|row| cell(row, n)).max().unwrap_or_default())
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let cells: Vec<_> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schedule_is_shown_with_what_matters_and_no_empty_lines() {
        let view = json!({
            "name": "nightly", "state": "PAUSED", "reason": "holidays", "fires": 3,
            "description": "at 02:30, Europe/Berlin", "next_fire_at": "2026-12-01T01:30:00.000000Z",
            "job": {"target": {"url": "https://x.example/", "method": "POST"}},
        });
        assert_eq!(
            schedule(&view),
            "name   nightly\n\
             state  PAUSED: holidays\n\
             fires  at 02:30, Europe/Berlin\n\
             next   2026-12-01T01:30:00Z\n\
             fired  3\n\
             calls  POST https://x.example/"
        );
    }

    #[test]
    fn tables_are_aligned_and_leave_out_columns_without_content() {
        let views = [
            json!({"name": "a", "state": "ACTIVE", "description": "every hour",
                   "next_fire_local": "2026-03-31T02:00:00-04:00"}),
            json!({"name": "longer", "state": "ENDED", "description": "once"}),
        ];
        assert_eq!(
            schedules(&views),
            "NAME    STATE   NEXT                       FIRES\n\
             a       ACTIVE  2026-03-31T02:00:00-04:00  every hour\n\
             longer  ENDED   -                          once"
        );
        let fires = [
            json!({"at": "A", "local": "B", "outcome": "expected", "notes": []}),
            json!({"at": "C", "local": "D", "outcome": "skipped_gap",
                   "notes": [{"code": "skipped_gap", "text": "why"}]}),
        ];
        assert_eq!(expected(&fires), "B  A\nD  C  skipped_gap  why");
        assert_eq!(expected(&[]), "it will not fire any more");
    }

    #[test]
    fn outcomes_of_verbs_say_what_was_made() {
        let fired = json!({"outcome": "fired", "job_id": "job_1", "waiting": true});
        assert_eq!(triggered(&fired), "fired job_1 (waits for its turn)");
        let skipped = triggered(&json!({"outcome": "skipped_overlap", "job_id": null}));
        assert!(skipped.contains("no job was made"), "{skipped}");
        let dry = json!({"dry_run": true, "count": 1, "fires": [{"fire_at": "T", "job_id": null}]});
        assert_eq!(backfill(&dry), "would make 1 job\nT");
        let late = json!({"fire_at": "T.000000Z", "until": "U", "outcome": "missed", "count": 7,
                          "at_least": true, "origin": "timer", "job_id": null});
        let past = past(&[late]);
        assert_eq!(past.lines().nth(1), Some("TZ to U  missed   7+     timer"), "{past}");
        let none = json!({"dry_run": false, "count": 0, "fires": []});
        assert_eq!(backfill(&none), "made 0 jobs");
    }
}
