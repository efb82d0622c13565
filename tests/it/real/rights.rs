//! What the agent may do at each level, in a kind world and in a hostile one. The proof is never what a CLI says: it is
//! the file system afterwards, and what reached the network.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Turn, ask, calls, hostile, refused, resume, run};
use crate::model::{Model, edit, read, shell, text, tool, write};
use crate::world::{Cli, Tree, World, for_every_cli};

for_every_cli! {
    read_only,
    read_only_in_a_hostile_project,
    edit_level,
    edit_level_in_a_hostile_project,
    full,
    a_resumed_conversation_stays_read_only,
    deny_tool,
    deny_part_of_a_tool,
    deny_what_is_no_tool,
    allow_tool,
    a_list_of_tools_adds_nothing_to_a_level,
    level_ask,
}

/// A world, what it held before, and the places where an attempt would show.
struct Cell<'a> {
    world: &'a World<'a>,
    project: Tree,
    home: Tree,
    outside: PathBuf,
}

impl<'a> Cell<'a> {
    fn new(world: &'a World<'a>) -> Self {
        world.write("kept.txt", "one\ntwo\n");
        let outside = world.project().with_file_name("outside");
        fs::create_dir_all(&outside).expect("a folder of the world");
        let link = |to: PathBuf, name: &str| {
            std::os::unix::fs::symlink(to, world.project().join(name)).expect("a link in the project");
        };
        link(outside.clone(), "link-to-folder");
        link(outside.join("by-dangling-link"), "dangling-link");
        Self {
            world,
            project: Tree::of(&world.project()),
            home: world.home_tree(),
            outside,
        }
    }

    fn hostile(world: &'a World<'a>, cli: Cli, level: &str) -> Self {
        hostile::project(world);
        hostile::permissive_home(world);
        if cli == Cli::OpenCode {
            // It runs the plugins of a project whatever it is told, so beside them nothing is started at all.
            let turn = refused(run(world, cli).args(["-P", level]), "try", 2, "usage");
            turn.check(world.model().all_requests().is_empty(), "nothing is started");
            hostile::remove_plugins(world);
        }
        Self::new(world)
    }

    fn path(&self, name: &str) -> String {
        self.world.project().join(name).to_string_lossy().into_owned()
    }

    fn beyond(&self, name: &str) -> String {
        self.outside.join(name).to_string_lossy().into_owned()
    }

    /// A command that writes here, writes outside, and asks the network.
    fn command(&self, name: &str) -> String {
        let url = self.world.model().url();
        format!(
            "echo x > {name}; touch '{}'; node -e \"fetch('{url}/reached').catch(() => 0)\"",
            self.beyond(name)
        )
    }

    /// Tells the model to try everything, and to say so.
    fn attempt_everything(&self, cli: Cli) {
        let model = self.world.model();
        model.push(read(self.path("kept.txt")));
        model.push(write(self.path("by-write"), "x\n"));
        model.push(shell(self.command("by-shell")));
        model.push(edit(self.path("kept.txt"), "two", "three"));
        model.push(write(self.beyond("by-write"), "x\n"));
        model.push(write(self.path("link-to-folder/by-link"), "x\n"));
        model.push(write(self.path("dangling-link"), "x\n"));
        for (name, arguments) in self.escapes(cli) {
            model.push(tool(name, arguments));
        }
        // A command that does nothing else, and fails by that.
        model.push(shell(format!("touch '{}'", self.beyond("by-touch"))));
        // Whatever an escape has opened, this goes through it.
        model.push(shell(self.command("by-escape")));
        model.push(write(self.beyond("by-escape"), "x\n"));
        model.push(text("tried"));
    }

    /// The ways out of its limits that a CLI is known to have had.
    fn escapes(&self, cli: Cli) -> Vec<(&'static str, Value)> {
        let url = format!("{}/reached", self.world.model().url());
        let command = self.command("by-subagent");
        match cli {
            Cli::Claude => vec![
                ("WebFetch", json!({"url": url, "prompt": "read it"})),
                (
                    "Agent",
                    json!({"subagent_type": "general-purpose", "description": "a task", "prompt": command}),
                ),
                ("EnterPlanMode", json!({})),
                ("ExitPlanMode", json!({"plan": "write"})),
            ],
            Cli::Codex => vec![(
                "exec_command",
                json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "needed"}),
            )],
            Cli::Gemini => vec![
                ("web_fetch", json!({"prompt": format!("read {url}")})),
                ("enter_plan_mode", json!({"reason": "to plan"})),
                (
                    "exit_plan_mode",
                    json!({"plan_filename": "plan.md", "plan_path": "plan.md"}),
                ),
            ],
            Cli::OpenCode => vec![
                ("webfetch", json!({"url": url, "format": "text"})),
                (
                    "task",
                    json!({"description": "a task", "prompt": command, "subagent_type": "general"}),
                ),
                ("plan_exit", json!({})),
            ],
            Cli::Pi | Cli::Qwen => Vec::new(),
        }
    }

    /// What was added, changed or removed in the project.
    fn changes(&self) -> Vec<String> {
        Tree::of(&self.world.project()).changes_since(&self.project, &[".git"])
    }

    /// Nothing outside was touched, nothing reached the network, nothing hostile was started, the home is as it was.
    fn confined(&self, turn: &Turn, cli: Cli) {
        let beyond = Tree::of(&self.outside).changes_since(&Tree::default(), &[]);
        turn.check(beyond.is_empty(), &format!("nothing outside, not {beyond:?}"));
        let marks = Tree::of(&hostile::marks(self.world)).changes_since(&Tree::default(), &[]);
        turn.check(marks.is_empty(), &format!("nothing is started, not {marks:?}"));
        turn.check(!self.reached(), "the network is not reached");
        self.home_is_kept(turn, cli);
    }

    fn home_is_kept(&self, turn: &Turn, cli: Cli) {
        let mut changes = self.world.home_tree().changes_since(&self.home, &[]);
        changes.retain(|change| {
            let path = Path::new(&change[2..]);
            !is_its_own(cli, path) && !self.world.home().join(path).is_dir()
        });
        turn.check(changes.is_empty(), &format!("the home is as it was, not {changes:?}"));
    }

    /// Every attempt is told, and each as refused but for these, by their place.
    fn tells_refusals(&self, turn: &Turn, cli: Cli, permitted: &[usize]) {
        let ended = turn.told("tool_end");
        if cli == Cli::Codex {
            let named = turn.result()["deniedTools"].as_array().cloned().unwrap_or_default();
            let kinds: Vec<_> = named.iter().filter_map(|tool| tool["kind"].as_str()).collect();
            // A patch, a command that asked to be let out of the sandbox, and those that it stopped. Of a quick one of
            // these Codex tells in an event or, as it happens, in its log alone.
            let (patches, commands) = kinds.split_at(kinds.len().min(1));
            turn.check(
                patches == ["edit"] && commands.len() >= 2 && commands.iter().all(|kind| *kind == "bash"),
                &format!("a patch and commands are refused, not {kinds:?}"),
            );
            let stopped = |event: &&&Value| event["output"].as_str().is_some_and(|text| text.contains("/by-touch"));
            turn.check(
                ended.iter().filter(stopped).all(|event| event["denied"] == true),
                "the command that the sandbox stopped is told as refused",
            );
            return;
        }
        let attempts = calls(self.world.model()) - 1;
        turn.check(
            ended.len() == attempts,
            &format!("{attempts} attempts are told, not {}", ended.len()),
        );
        for (place, event) in ended.iter().enumerate() {
            let permitted = permitted.contains(&place);
            turn.check(
                event["ok"] == permitted && event["denied"] == !permitted,
                &format!("attempt {place} works: {permitted}, not {event}"),
            );
        }
        turn.check(turn.result()["deniedTools"] != json!([]), "the refused tools are named");
    }

    fn reached(&self) -> bool {
        let requests = self.world.model().all_requests();
        requests.iter().any(|request| request.path.starts_with("/reached"))
    }
}

/// What each CLI writes into a home by itself: conversations, logs, caches, and its own marks of having been there.
fn is_its_own(cli: Cli, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let within = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    match cli {
        // It keeps counters of its use, and copies of them, beside the conversations.
        Cli::Claude => within(&[
            ".claude.json",
            ".claude/backups",
            ".claude/plugins",
            ".claude/projects",
            ".claude/sessions",
            ".claude/.last-cleanup",
        ]),
        Cli::Codex => {
            let database = path.starts_with(".codex") && name.contains(".sqlite");
            let folders = [
                "sessions",
                "shell_snapshots",
                "skills/.system",
                "thread-writer-locks",
                "tmp",
            ];
            let folders = folders.map(|folder| format!(".codex/{folder}"));
            database
                || within(&[".codex/installation_id", ".codex/.sandbox_migration"])
                || within(&folders.each_ref().map(String::as_str))
        }
        Cli::Gemini => within(&[".gemini/tmp", ".gemini/history"]),
        Cli::OpenCode => within(&[
            ".cache/opencode",
            ".config/opencode/.gitignore",
            ".local/share/opencode",
            ".local/state/opencode",
        ]),
        // At its first start it makes an empty file for logins.
        Cli::Pi | Cli::Qwen => within(&[".pi/agent/sessions", ".pi/agent/auth.json"]),
    }
}

fn read_only(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    stays_read_only(&Cell::new(&world), cli);
}

fn read_only_in_a_hostile_project(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    stays_read_only(&Cell::hostile(&world, cli, "read-only"), cli);
}

fn stays_read_only(cell: &Cell, cli: Cli) {
    cell.attempt_everything(cli);
    let turn = refused(
        run(cell.world, cli).args(["-P", "read-only"]),
        "try",
        8,
        "permission_denied",
    );
    let changes = cell.changes();
    turn.check(
        changes.is_empty(),
        &format!("the project is as it was, not {changes:?}"),
    );
    cell.confined(&turn, cli);
    let results = cell.world.model().last_request().tool_results().to_vec();
    turn.check(results[0].text.contains("two"), "reading works");
    cell.tells_refusals(&turn, cli, &[0]);
}

fn edit_level(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    only_edits(&Cell::new(&world), cli);
}

fn edit_level_in_a_hostile_project(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    only_edits(&Cell::hostile(&world, cli, "edit"), cli);
}

fn only_edits(cell: &Cell, cli: Cli) {
    cell.attempt_everything(cli);
    let turn = refused(run(cell.world, cli).args(["-P", "edit"]), "try", 8, "permission_denied");
    let wanted: &[&str] = match cli {
        // Its commands run in a sandbox that lets them write here.
        Cli::Codex => &["+ by-escape", "+ by-shell", "+ by-write", "~ kept.txt"],
        _ => &["+ by-write", "~ kept.txt"],
    };
    let changes = cell.changes();
    turn.check(
        changes == wanted,
        &format!("the changes are {wanted:?}, not {changes:?}"),
    );
    turn.check(
        cell.world.read("kept.txt").as_deref() == Some("one\nthree\n"),
        "the edit is made",
    );
    cell.confined(&turn, cli);
    // Reading, writing and editing inside.
    cell.tells_refusals(&turn, cli, &[0, 1, 3]);
}

fn full(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    model.push(read(cell.path("kept.txt")));
    model.push(write(cell.path("by-write"), "x\n"));
    model.push(shell(cell.command("by-shell")));
    model.push(edit(cell.path("kept.txt"), "two", "three"));
    model.push(text("tried"));
    let turn = ask(run(&world, cli).args(["-P", "full"]), "try");
    let changes = cell.changes();
    let wanted = ["+ by-shell", "+ by-write", "~ kept.txt"];
    turn.check(
        changes == wanted,
        &format!("the changes are {wanted:?}, not {changes:?}"),
    );
    turn.check(cell.outside.join("by-shell").exists(), "commands write everywhere");
    turn.check(cell.reached(), "the network is reached");
    turn.is("deniedTools", json!([]));
    cell.home_is_kept(&turn, cli);
}

fn a_resumed_conversation_stays_read_only(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let cell = Cell::new(&world);
    let first = ask(run(&world, cli).args(["-P", "read-only"]), "remember");
    let attempts = || {
        model.push(shell(cell.command("by-shell")));
        model.push(edit(cell.path("kept.txt"), "two", "three"));
        model.push(write(cell.path("by-write"), "x\n"));
        model.push(text("tried"));
    };
    attempts();
    // What the environment would give to a new conversation is not given to this one.
    let generous = resume(&world, first.key())
        .env("AGENTCTL_PERMISSION", "full")
        .env("ALLOWED_TOOLS", "bash,edit,write");
    let second = refused(generous, "try", 8, "permission_denied");
    let changes = cell.changes();
    second.check(
        changes.is_empty(),
        &format!("the project is as it was, not {changes:?}"),
    );
    cell.confined(&second, cli);
    attempts();
    let third = ask(resume(&world, first.key()).args(["-P", "full"]), "now you may");
    let changes = cell.changes();
    let made = |name: &str| changes.iter().any(|change| change == name);
    third.check(
        made("+ by-shell") && made("+ by-write"),
        "more rights only when they are asked for",
    );
}

fn deny_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    model.push(shell(cell.command("by-shell")));
    model.push(write(cell.path("by-write"), "x\n"));
    model.push(text("tried"));
    let run = run(&world, cli).args(["--deny-tool", "bash"]);
    let (turn, wanted) = match cli {
        // It changes files by a command, unless it knows that the model can do better.
        Cli::Codex => (refused(run, "try", 8, "permission_denied"), &[][..]),
        _ => (ask(run, "try"), &["+ by-write"][..]),
    };
    let changes = cell.changes();
    turn.check(
        changes == wanted,
        &format!("the changes are {wanted:?}, not {changes:?}"),
    );
    turn.check(!cell.reached(), "no command ran");
    turn.check(turn.result()["deniedTools"] != json!([]), "the refused tool is named");
}

fn allow_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    model.push(read(cell.path("kept.txt")));
    model.push(write(cell.path("by-write"), "x\n"));
    model.push(shell(cell.command("by-shell")));
    model.push(write(cell.beyond("by-write"), "x\n"));
    model.push(text("tried"));
    let turn = refused(
        run(&world, cli).args(["--allow-tool", "read"]),
        "try",
        8,
        "permission_denied",
    );
    let changes = cell.changes();
    turn.check(
        changes.is_empty(),
        &format!("the project is as it was, not {changes:?}"),
    );
    cell.confined(&turn, cli);
}

fn deny_part_of_a_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    let rule = match cli {
        Cli::Gemini => "run_shell_command(touch)",
        _ => "bash(touch *)",
    };
    let run = run(&world, cli).args(["--deny-tool", rule]);
    if matches!(cli, Cli::Codex | Cli::Pi) {
        let turn = refused(run, "try", 2, "usage");
        turn.check(model.all_requests().is_empty(), "nothing is started");
        return;
    }
    let files = match cli {
        Cli::Claude => Some("write(secret/**)"),
        Cli::OpenCode => Some("edit(secret/*)"),
        _ => None,
    };
    let run = run.args(files.iter().flat_map(|rule| ["--deny-tool", rule]));
    model.push(shell("touch by-touch"));
    if files.is_some() {
        model.push(write(cell.path("secret/by-write"), "x\n"));
    }
    model.push(shell("echo made > by-echo"));
    model.push(text("tried"));
    let turn = ask(run, "try");
    let changes = cell.changes();
    turn.check(
        changes == ["+ by-echo"],
        &format!("only what was not denied is done, not {changes:?}"),
    );
    turn.check(turn.result()["deniedTools"] != json!([]), "the refused calls are named");
}

fn deny_what_is_no_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    for rule in ["bsah", "bsah(touch *)", ""] {
        let turn = refused(run(&world, cli).args(["--deny-tool", rule]), "try", 2, "usage");
        turn.check(turn.outcome.stderr().contains("hint: "), "it says what to do");
        refused(run(&world, cli).args(["--allow-tool", rule]), "try", 2, "usage");
    }
    assert!(model.all_requests().is_empty(), "nothing is started");
}

fn a_list_of_tools_adds_nothing_to_a_level(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    for (level, tools) in [("read-only", ["edit", "write"]), ("edit", ["read", "fetch"])] {
        let typed = run(&world, cli).args(["-P", level, "--allow-tool", tools[0], "--allow-tool", tools[1]]);
        let turn = refused(typed, "try", 2, "usage");
        turn.check(turn.outcome.stderr().contains("only limits a level"), "it says why");
    }
    let configured = run(&world, cli)
        .args(["-P", "read-only"])
        .env("ALLOWED_TOOLS", "edit,write");
    let turn = refused(configured, "try", 2, "usage");
    turn.check(
        turn.outcome.stderr().contains("no tool is left"),
        "an empty list is no list",
    );
    let turn = refused(run(&world, cli).env("ALLOWED_TOOLS", " ,"), "try", 2, "usage");
    turn.check(model.all_requests().is_empty(), "nothing is started");

    model.push(read(cell.path("kept.txt")));
    model.push(write(cell.path("by-write"), "x\n"));
    model.push(shell(cell.command("by-shell")));
    model.push(edit(cell.path("kept.txt"), "two", "three"));
    model.push(text("tried"));
    let configured = run(&world, cli)
        .args(["-P", "read-only"])
        .env("ALLOWED_TOOLS", "bash,edit,write,read");
    let turn = refused(configured, "try", 8, "permission_denied");
    let changes = cell.changes();
    turn.check(
        changes.is_empty(),
        &format!("the project is as it was, not {changes:?}"),
    );
    cell.confined(&turn, cli);
    let warnings = turn.result()["warnings"].to_string();
    turn.check(
        warnings.contains("ALLOWED_TOOLS") && warnings.contains("edit, write"),
        "what was left out is told",
    );
}

/// Nobody can be asked yet, so it is neither more nor less than was wanted: it is nothing.
fn level_ask(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let cell = Cell::new(&world);
    let turn = refused(run(&world, cli).args(["-P", "ask"]), "try", 2, "usage");
    turn.check(
        turn.outcome.stderr().contains("reserved") && turn.outcome.stderr().contains("hint: "),
        "it says why, and what to do",
    );
    turn.check(model.all_requests().is_empty(), "nothing is started");
    turn.check(world.home_tree() == cell.home, "the home is as it was");
}
