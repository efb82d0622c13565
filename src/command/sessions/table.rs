//! Stored conversations for people: columns that fit together, times relative, names made harmless for a terminal.

use super::view::{PruneView, SessionView, word};
use crate::command::columns::{padded, width};
use crate::duration;
use crate::report::is_dangerous;
use crate::session::one_line;
use jiff::Timestamp;
use owo_colors::{OwoColorize, Style};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the text depends on beside the sessions.
#[derive(Clone, Debug)]
pub struct Look {
    pub now: Timestamp,
    /// Shown as `~`.
    pub home: Option<PathBuf>,
    pub color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Plain,
    Colored,
}

impl Look {
    fn style(&self, style: Style) -> Style {
        match self.color {
            Color::Plain => Style::new(),
            Color::Colored => style,
        }
    }

    fn directory(&self, cwd: &str) -> String {
        let below_home = self
            .home
            .as_ref()
            .filter(|home| home.as_os_str().len() > 1)
            .and_then(|home| Path::new(cwd).strip_prefix(home).ok());
        match below_home {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~{}{}", std::path::MAIN_SEPARATOR, one_line(&below.to_string_lossy())),
            None => one_line(cwd),
        }
    }
}

const HEADER: [&str; 8] = ["KEY", "BACKEND", "USED", "RUNS", "RESULT", "MODEL", "DIRECTORY", "NAME"];

/// The name comes last: it may be any text, and nothing has to line up after it.
pub(super) fn list(views: &[SessionView], look: &Look, out: &mut dyn Write) -> io::Result<()> {
    if views.is_empty() {
        return writeln!(out, "no sessions");
    }
    let rows: Vec<[String; 8]> = views.iter().map(|view| row(view, look)).collect();
    let mut widths = HEADER.map(str::len);
    for row in &rows {
        for (cells, cell) in widths.iter_mut().zip(row) {
            *cells = width(cell).max(*cells);
        }
    }
    let header = line(&HEADER.map(str::to_owned), &widths);
    writeln!(out, "{}", header.style(look.style(Style::new().bold())))?;
    for (row, view) in rows.iter().zip(views) {
        let failed = view.outcome.is_some_and(|outcome| outcome.error.is_some());
        let style = if failed { Style::new().red() } else { Style::new() };
        writeln!(out, "{}", line(row, &widths).style(look.style(style)))?;
    }
    Ok(())
}

fn row(view: &SessionView, look: &Look) -> [String; 8] {
    [
        view.session.short().to_owned(),
        one_line(&view.backend),
        duration::ago(look.now.duration_since(view.used_at)),
        view.runs.to_string(),
        view.state(),
        view.model.as_deref().map_or_else(|| "-".to_owned(), one_line),
        look.directory(&view.cwd),
        view.name.as_deref().map(one_line).unwrap_or_default(),
    ]
}

fn line(cells: &[String; 8], widths: &[usize; 8]) -> String {
    let cells = cells.iter().zip(widths);
    let line: String = cells.map(|(cell, width)| padded(cell, *width) + "  ").collect();
    line.trim_end().to_owned()
}

/// One conversation, field by field; fields without a value are left out.
pub(super) fn details(view: &SessionView, look: &Look, out: &mut dyn Write) -> io::Result<()> {
    let label = look.style(Style::new().bold());
    for (name, value) in fields(view, look) {
        let name = format!("{name:<14}");
        let mut lines = value.lines();
        writeln!(out, "{}  {}", name.style(label), safe(lines.next().unwrap_or_default()))?;
        for line in lines {
            writeln!(out, "{:14}  {}", "", safe(line))?;
        }
    }
    Ok(())
}

fn fields(view: &SessionView, look: &Look) -> Vec<(&'static str, String)> {
    let time = |at: Timestamp| format!("{at} ({})", duration::ago(look.now.duration_since(at)));
    let rules = |rules: &[crate::tool::ToolRule]| {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        rules.join(", ")
    };
    let options: Vec<String> = view
        .options
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let usage = &view.usage;
    let used = format!(
        "{} in, {} cache read, {} cache write, {} out, {} in all",
        usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens, usage.total_tokens
    );
    let fields = [
        ("key", view.session.to_string()),
        ("name", view.name.clone().unwrap_or_default()),
        ("backend", view.backend.clone()),
        ("native id", view.session_id.clone()),
        ("earlier ids", view.earlier_session_ids.join("\n")),
        (
            "forked from",
            view.parent.map(|key| key.to_string()).unwrap_or_default(),
        ),
        ("directory", view.cwd.clone()),
        ("added", view.add_dirs.join("\n")),
        ("model", view.model.clone().unwrap_or_default()),
        ("effort", view.effort.map(word).unwrap_or_default()),
        ("permission", word(view.permission)),
        ("allowed tools", rules(&view.allow_tools)),
        ("denied tools", rules(&view.deny_tools)),
        ("system", view.system.clone().unwrap_or_default()),
        ("identity", view.identity.clone().unwrap_or_default()),
        ("mcp", view.mcp_configs.join("\n")),
        ("options", options.join("\n")),
        ("created", time(view.created_at)),
        ("used", time(view.used_at)),
        ("runs", view.runs.to_string()),
        ("last run", view.state()),
        ("tokens", used),
        (
            "cost",
            view.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default(),
        ),
        ("transcript", view.transcript.clone().unwrap_or_default()),
        ("resume with", view.resume_command.clone()),
    ];
    fields.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// Stored text must not drive the terminal.
fn safe(line: &str) -> String {
    let harmless = |character| match is_dangerous(character) {
        true => '\u{fffd}',
        false => character,
    };
    line.chars().map(harmless).collect()
}

pub(super) fn pruned(view: &PruneView, out: &mut dyn Write) -> io::Result<()> {
    for one in &view.removed {
        let name = one.name.as_deref().map(one_line).unwrap_or_default();
        let line = format!("{}  {}  {name}", one.session, one.backend);
        writeln!(out, "{}", line.trim_end())?;
    }
    let verb = if view.dry_run { "would remove" } else { "removed" };
    write!(out, "{verb} {}, kept {}", view.removed.len(), view.kept)?;
    if !view.busy.is_empty() {
        write!(out, ", {} in use", view.busy.len())?;
    }
    if !view.damaged.is_empty() {
        let fate = match (view.damaged_removed, view.dry_run) {
            (true, false) => "removed",
            (true, true) => "would go too",
            (false, _) => "left (--damaged removes them)",
        };
        write!(out, ", {} damaged {fate}", view.damaged.len())?;
    }
    writeln!(out)
}
