//! The directories and the environment of one test.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use uuid::Uuid;

use super::cli::{self, Cli};
use super::real;
use super::run::Run;
use super::tree::Tree;
use crate::model::{Model, Request};

/// The variable by which the processes of a world are known, however far they have wandered off.
const TOKEN: &str = "AGENTCTL_TEST_TOKEN";

/// A scrubbed place that points at one model.
pub struct World<'a> {
    model: &'a Model,
    root: PathBuf,
    token: String,
    environment: BTreeMap<String, String>,
    exchanges: AtomicUsize,
    reported: AtomicBool,
}

impl<'a> World<'a> {
    pub fn new(model: &'a Model) -> Self {
        let token = Uuid::new_v4().simple().to_string();
        // Not in the system's temporary directory: Codex refuses to put its helper programs there.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("worlds").join(&token[..12]);
        for folder in ["home", "project", "state", "tmp"] {
            fs::create_dir_all(root.join(folder)).expect("a folder of the world");
        }
        let root = root.canonicalize().expect("the world exists");
        cli::configure(&root.join("home"), &model.url());
        let mut world = Self {
            model,
            root,
            token,
            environment: BTreeMap::new(),
            exchanges: AtomicUsize::new(0),
            reported: AtomicBool::new(false),
        };
        world.environment = world.scrubbed_environment();
        world.git_init();
        world
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The working directory of everything that is run.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The state directory of agentctl.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// A place for files of the test that belong to neither home nor project.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub fn model(&self) -> &Model {
        self.model
    }

    /// Writes a file of the project and gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder of the project");
        fs::write(&path, content).expect("a file of the project");
        path
    }

    /// The content of a file of the project, if it is there.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project().join(name)).ok()
    }

    /// A variable for everything that is run from now on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// agentctl with these arguments.
    pub fn agentctl<I>(&self, arguments: I) -> Run<'_>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        Run::new(self, Path::new(env!("CARGO_BIN_EXE_agentctl")), arguments)
    }

    /// A CLI itself with these arguments.
    pub fn cli<I>(&self, cli: Cli, arguments: I) -> Run<'_>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        Run::new(self, &real::directory().join(cli.name()), arguments)
    }

    /// Any program with these arguments.
    pub fn program<I>(&self, program: &str, arguments: I) -> Run<'_>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        Run::new(self, Path::new(program), arguments)
    }

    /// A file with one MCP server, `demo`, in the common `{"mcpServers":{…}}` form. Its tool `lookup` answers
    /// `found WORD` when it is called with `{"word": "WORD"}`.
    pub fn mcp_config(&self) -> PathBuf {
        let server = self.scratch().join("mcp_server.mjs");
        fs::write(&server, include_str!("mcp_server.mjs")).expect("a file of the world");
        let config = json!({"mcpServers": {"demo": {"command": "node", "args": [server]}}});
        let path = self.scratch().join("mcp.json");
        fs::write(&path, config.to_string()).expect("a file of the world");
        path
    }

    /// A new file for `--record`: what it holds is part of every failure report.
    pub fn exchange(&self) -> PathBuf {
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        self.exchange_numbered(number)
    }

    /// Everything that was recorded, oldest first, as a path and what it holds.
    pub(super) fn recorded(&self) -> Vec<(PathBuf, String)> {
        let last = self.exchanges.load(Ordering::Relaxed);
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).ok()?;
            Some((path, String::from_utf8_lossy(&bytes).into_owned()))
        };
        (1..=last)
            .filter_map(|number| read(self.exchange_numbered(number)))
            .collect()
    }

    fn exchange_numbered(&self, number: usize) -> PathBuf {
        self.root.join(format!("exchange-{number}.jsonl"))
    }

    /// What the home holds now, to compare with what it holds later.
    pub fn home_tree(&self) -> Tree {
        Tree::of(&self.home())
    }

    /// The processes of this world that are alive, as `pid command line`. Known on Linux only.
    pub fn survivors(&self) -> Vec<String> {
        survivors(&self.token)
            .into_iter()
            .map(|(pid, command)| format!("{pid} {command}"))
            .collect()
    }

    /// Whether no run of this world was reported yet as the one at which the test failed. It is from now on.
    pub(super) fn is_first_report(&self) -> bool {
        !self.reported.swap(true, Ordering::Relaxed)
    }

    /// Ends every process of this world.
    pub(super) fn kill_all(&self) {
        kill_survivors(&self.token);
    }

    fn scrubbed_environment(&self) -> BTreeMap<String, String> {
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut all: BTreeMap<String, String> = cli::environment(&self.model.url())
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        all.insert(TOKEN.to_owned(), self.token.clone());
        all.insert("HOME".to_owned(), path(self.home()));
        all.insert("TMPDIR".to_owned(), path(self.scratch()));
        all.insert("AGENTCTL_STATE_DIR".to_owned(), path(self.state()));
        all.insert("PATH".to_owned(), search_path());
        all.insert("TERM".to_owned(), "xterm".to_owned());
        all.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        all
    }

    /// The requests with their whole bodies, one a line.
    fn write_requests(&self) {
        let requests = self.model.all_requests();
        let line = |request: &Request| json!({"method": request.method, "path": request.path, "body": request.body});
        let lines: String = requests.iter().map(|request| format!("{}\n", line(request))).collect();
        // The test has failed already: its own message must not be lost to a full disk.
        let _ = fs::write(self.root.join("requests.jsonl"), lines);
    }

    fn git_init(&self) {
        let mut git = Command::new("git");
        git.args(["init", "-q", "."])
            .current_dir(self.project())
            .env_clear()
            .envs(&self.environment);
        // Where there is no git, the project is a plain directory, and the CLIs that mind say so.
        let _ = git.status();
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.kill_all();
        if env::var_os("AGENTCTL_KEEP_WORLD").is_some() || std::thread::panicking() {
            self.write_requests();
            eprintln!(
                "the world is kept in {}, with every request in requests.jsonl",
                self.root.display()
            );
            return;
        }
        // Whatever cannot be removed lies under target/ and harms nobody.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The CLIs first, then Node and the system's own programs, and nothing of the user's.
fn search_path() -> String {
    let mut folders = vec![real::directory()];
    folders.extend(
        which::which("node")
            .ok()
            .and_then(|node| node.parent().map(Path::to_path_buf)),
    );
    folders.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
    env::join_paths(folders)
        .expect("a search path")
        .to_string_lossy()
        .into_owned()
}

/// The processes whose environment carries the token: also those that left their group and their parent.
#[cfg(target_os = "linux")]
fn survivors(token: &str) -> Vec<(i32, String)> {
    let marker = format!("{TOKEN}={token}");
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == marker.as_bytes())
    };
    let command = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).replace('\0', " "))
    };
    numbers.filter(ours).map(command).collect()
}

#[cfg(not(target_os = "linux"))]
fn survivors(_token: &str) -> Vec<(i32, String)> {
    Vec::new()
}

/// Ends what a failed test left behind.
fn kill_survivors(token: &str) {
    for (pid, _) in survivors(token) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            // It may have ended by itself by now.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
