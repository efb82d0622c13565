//! Level `edit` in a project whose symbolic links lead out of it: nothing outside changes, and what is inside still
//! can. The proof is the file system afterwards.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::{Model, Step, edit, read, text, tool, write};
use crate::world::{Cli, Outcome, Run, World, for_every_cli, real};

for_every_cli! {
    edits_stay_inside,
    no_link_leads_an_edit_outside,
}

/// Enough for a CLI to start and to use a tool often, on a busy machine.
const LONG: Duration = Duration::from_secs(180);

const BEFORE: &str = "one\ntwo\n";

/// A project with links, and the place beside it that they lead to.
struct Place<'a> {
    world: &'a World<'a>,
    outside: PathBuf,
}

impl<'a> Place<'a> {
    fn new(world: &'a World<'a>) -> Self {
        let outside = world.project().with_file_name("outside");
        fs::create_dir_all(&outside).expect("a folder of the world");
        for name in ["target", "other"] {
            fs::write(outside.join(name), BEFORE).expect("a file of the world");
        }
        world.write("kept.txt", BEFORE);
        world.write("src/here.txt", BEFORE);
        let project = world.project();
        let links = [
            (outside.join("target"), "link-to-file"),
            (outside.clone(), "link-to-folder"),
            (outside.join("by-dangling-link"), "dangling-link"),
            (PathBuf::from("link-to-folder"), "link-to-link"),
            (project.join("kept.txt"), "link-inside"),
            (project.join("src"), "folder-inside"),
        ];
        for (to, name) in links {
            symlink(to, project.join(name)).expect("a link in the project");
        }
        Self { world, outside }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.world.project().display())
    }

    fn beyond(&self, name: &str) -> String {
        format!("{}/{name}", self.outside.display())
    }

    fn run(&self, cli: Cli) -> Run<'a> {
        let run = self
            .world
            .agentctl(["run", "-b", cli.name(), "-P", "edit", "-o", "json"]);
        let run = run.arg("--record").arg(self.world.exchange());
        run.stdin("change it").patience(LONG)
    }

    /// Nothing outside of the project is different.
    fn nothing_escaped(&self, outcome: &Outcome<'_>) {
        for name in ["target", "other"] {
            let content = fs::read_to_string(self.outside.join(name)).ok();
            outcome.check(
                content.as_deref() == Some(BEFORE),
                &format!("outside/{name} is as before"),
            );
        }
        outcome.check(entries(&self.outside).len() == 2, "nothing is new outside");
        let beside = entries(self.outside.parent().expect("the world"));
        outcome.check(
            !beside.iter().any(|name| name.starts_with("escaped")),
            &format!("nothing is new beside the project: {beside:?}"),
        );
    }
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder of the world");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.collect()
}

/// The tools that were refused, in the result.
fn denied(result: &Value) -> usize {
    result["deniedTools"].as_array().map_or(0, Vec::len)
}

fn edits_stay_inside(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let place = Place::new(&world);
    model.push(write(place.path("new/file.txt"), "new\n"));
    model.push(read(place.path("kept.txt")));
    model.push(edit(place.path("kept.txt"), "two", "three"));
    model.push(write(place.beyond("granted"), "new\n"));
    model.push(text("done"));
    let outcome = place.run(cli).arg("--add-dir").arg(&place.outside).run().exits(0);
    outcome.check(denied(&outcome.json()) == 0, "nothing is refused");
    outcome.check(
        world.read("new/file.txt").as_deref() == Some("new\n"),
        "a file is written",
    );
    outcome.check(
        world.read("kept.txt").as_deref() == Some("one\nthree\n"),
        "a file is changed",
    );
    outcome.check(
        place.outside.join("granted").exists(),
        "a file is written in a further directory",
    );
}

fn no_link_leads_an_edit_outside(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let place = Place::new(&world);
    let inside = [write(place.path("first.txt"), "new\n")];
    let attempts = [
        write(place.path("link-to-folder/new"), "escaped\n"),
        write(place.path("link-to-folder/deep/new"), "escaped\n"),
        write(place.path("link-to-link/new"), "escaped\n"),
        write(place.path("link-to-folder/../escaped-by-parent"), "escaped\n"),
        write("link-to-folder/relative", "escaped\n"),
        // Some CLIs change only what they have read.
        read(place.path("link-to-file")),
        edit(place.path("link-to-file"), "two", "escaped"),
        write(place.path("link-to-file"), "escaped\n"),
        read(place.path("link-to-folder/other")),
        edit(place.path("link-to-folder/other"), "two", "escaped"),
        write(place.path("../escaped-upwards"), "escaped\n"),
        write("../escaped-relative", "escaped\n"),
        write(place.beyond("absolute"), "escaped\n"),
        write(place.path("dangling-link"), "escaped\n"),
    ];
    let calls = inside.len() + attempts.len();
    push(&model, inside.into_iter().chain(attempts));
    let outcome = place.run(cli).run();
    place.nothing_escaped(&outcome);
    outcome.check(model.requests().len() == calls + 1, "every attempt is made");
    outcome.check(world.read("first.txt").is_some(), "what is inside is written");
    let outcome = outcome.exits(8);
    outcome.check(denied(&outcome.json()) > 0, "refusals are told");
}

fn push(model: &Model, steps: impl IntoIterator<Item = Step>) {
    for step in steps {
        model.push(step);
    }
    model.push(text("done"));
}

fn patch(body: &str) -> Step {
    let patch = format!("*** Begin Patch\n{body}*** End Patch");
    tool("apply_patch", json!({"patchText": patch}))
}

/// OpenCode gives some models a tool for patches, instead of those for edits.
fn with_patches(run: Run<'_>) -> Run<'_> {
    let models = json!({"provider": {"mock": {"models": {"gpt-5-mock": {"name": "Mock"}}}}});
    run.env("OPENCODE_CONFIG_CONTENT", &models.to_string())
        .args(["-m", "mock/gpt-5-mock"])
}

#[test]
fn no_patch_of_opencode_leads_outside() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    let place = Place::new(&world);
    let steps = [
        patch("*** Add File: added.txt\n+new\n*** Update File: link-inside\n@@\n-two\n+three\n"),
        patch(
            "*** Add File: folder-inside/added.txt\n+new\n*** Update File: src/here.txt\n*** Move to: moved.txt\n@@\n-two\n+three\n",
        ),
        patch("*** Add File: link-to-folder/new\n+escaped\n"),
        patch("*** Add File: dangling-link\n+escaped\n"),
        patch("*** Update File: link-to-file\n@@\n-two\n+escaped\n"),
        patch("*** Update File: kept.txt\n*** Move to: link-to-folder/moved\n@@\n-one\n+escaped\n"),
        patch("*** Delete File: link-to-folder/other\n"),
        patch("*** Add File: fine.txt\n+new\n*** Add File:link-to-folder/second\n+escaped\n"),
        patch(&format!("*** Add File: {}\n+escaped\n", place.beyond("absolute"))),
        patch("*** Add File: ../escaped-upwards\n+escaped\n"),
    ];
    push(&model, steps);
    let outcome = with_patches(place.run(Cli::OpenCode)).run();
    outcome.check(model.requests()[0].offers("apply_patch"), "the tool is on offer");
    place.nothing_escaped(&outcome);
    outcome.check(
        world.read("added.txt").as_deref() == Some("new\n"),
        "a patch adds a file",
    );
    outcome.check(
        world.read("kept.txt").as_deref() == Some("one\nthree\n"),
        "a patch goes through a link inside",
    );
    outcome.check(
        world.read("src/added.txt").is_some(),
        "a patch goes through a folder inside",
    );
    outcome.check(
        world.read("moved.txt").as_deref() == Some("one\nthree\n"),
        "a patch moves a file",
    );
    let outcome = outcome.exits(8);
    outcome.check(denied(&outcome.json()) == 8, "every attempt is told as refused");
}

#[test]
fn arguments_that_a_tool_of_opencode_does_not_have_distract_nobody() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    let place = Place::new(&world);
    let harmless = "*** Begin Patch\n*** Add File: fine.txt\n+new\n*** End Patch";
    let arguments = json!({"filePath": place.path("link-to-file"), "content": "escaped\n", "patchText": harmless});
    push(
        &model,
        [
            tool("write", arguments),
            write(place.path("link-inside"), "new\n"),
            tool(
                "write",
                json!({"filePath": place.path("dangling-link"), "content": "escaped\n", "edits": []}),
            ),
        ],
    );
    let outcome = place.run(Cli::OpenCode).run();
    place.nothing_escaped(&outcome);
    outcome.check(
        world.read("kept.txt").as_deref() == Some("new\n"),
        "a link inside can be written",
    );
    let outcome = outcome.exits(8);
    outcome.check(denied(&outcome.json()) == 2, "both attempts are told as refused");
}

#[test]
fn without_its_gate_opencode_can_change_nothing() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    let place = Place::new(&world);
    let program = world.scratch().join("without-plugins");
    fs::write(&program, "#!/bin/sh\nOPENCODE_PURE=1 exec opencode \"$@\"\n").expect("a file of the world");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    push(&model, [write(place.path("inside.txt"), "new\n")]);
    let outcome = place.run(Cli::OpenCode).arg("--cli-path").arg(&program).run();
    outcome.check(world.read("inside.txt").is_none(), "nothing is written");
    outcome.check(!model.requests()[0].offers("write"), "the tool is not on offer");
    let outcome = outcome.exits(8);
    let warnings = outcome.json()["warnings"].to_string();
    outcome.check(warnings.contains("did not load the plugin"), "the reason is told");
}

/// A rule with a pattern takes the place of the mode in which the CLI confines whole tools to the directories.
#[test]
fn a_pattern_of_files_leads_claude_nowhere_outside() {
    if !real::is_on(Cli::Claude) {
        return;
    }
    for (rule, beside) in [("write(src/**)", false), ("write(**)", true)] {
        let model = Model::start();
        let world = World::new(&model);
        let place = Place::new(&world);
        for (to, name) in [
            ("by-dangling-link", "src/dangling"),
            ("target", "src/file"),
            ("", "src/folder"),
        ] {
            symlink(place.outside.join(to), world.project().join(name)).expect("a link in the project");
        }
        for name in [
            "src/file",
            "src/dangling",
            "src/folder/by-link",
            "link-to-folder/by-link",
            "src/../../outside/by-dots",
            "src/new.txt",
            "beside.txt",
        ] {
            model.push(write(place.path(name), "new\n"));
        }
        model.push(write(place.beyond("by-path"), "new\n"));
        model.push(text("done"));
        let outcome = place.run(Cli::Claude).args(["--allow-tool", rule]).run();
        outcome.check(model.requests().len() == 9, "every attempt is made");
        place.nothing_escaped(&outcome);
        let written = |name: &str| world.read(name).is_some();
        outcome.check(written("src/new.txt"), "what the pattern names is written");
        outcome.check(written("beside.txt") == beside, rule);
    }
}
