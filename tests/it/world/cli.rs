//! The one place that knows how each CLI is pointed at the scripted model.
//!
//! Telemetry, updates and everything else that would leave the machine is off; retries are few and quick, so
//! that scenarios with errors are too. (OpenCode has no such setting: give its errors a `retry-after-ms` header.)

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// A CLI that the tests can drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cli {
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Pi,
    /// Not built in: the example of a backend that a user declares.
    Qwen,
}

impl Cli {
    /// The built-in backends.
    pub const FIVE: [Cli; 5] = [Cli::Claude, Cli::Codex, Cli::Gemini, Cli::OpenCode, Cli::Pi];

    /// The name of the backend and of the program.
    pub fn name(self) -> &'static str {
        match self {
            Cli::Claude => "claude",
            Cli::Codex => "codex",
            Cli::Gemini => "gemini",
            Cli::OpenCode => "opencode",
            Cli::Pi => "pi",
            Cli::Qwen => "qwen",
        }
    }

    /// The arguments of one headless run with every permission, prompt on stdin: for tests that use the CLI itself.
    pub fn headless(self) -> &'static [&'static str] {
        match self {
            Cli::Claude => &["-p", "--dangerously-skip-permissions"],
            Cli::Codex => &[
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
            ],
            Cli::Gemini => &["--skip-trust", "--approval-mode", "yolo"],
            Cli::OpenCode => &["run", "--auto"],
            Cli::Pi => &["-p"],
            Cli::Qwen => &["--auth-type", "openai", "--approval-mode", "yolo"],
        }
    }

    /// What to add to `headless` to go on with the last conversation of the directory.
    pub fn resume_last(self) -> &'static [&'static str] {
        match self {
            Cli::Codex => &["resume", "--last", "-"],
            Cli::Gemini => &["--resume", "latest"],
            Cli::Claude | Cli::OpenCode | Cli::Pi | Cli::Qwen => &["--continue"],
        }
    }
}

/// The variables that point every CLI at the model and keep them quiet.
pub fn environment(model_url: &str) -> Vec<(&'static str, String)> {
    let fixed = [
        // The CLIs refuse full permissions to root unless they are told that it is a sandbox.
        ("IS_SANDBOX", "1"),
        ("ANTHROPIC_API_KEY", "sk-ant-dummy"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("MOCK_KEY", "dummy"),
        ("GEMINI_API_KEY", "dummy"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("npm_config_offline", "true"),
        ("PI_OFFLINE", "1"),
        ("PI_TELEMETRY", "0"),
    ];
    let mut all: Vec<_> = fixed
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    all.push(("ANTHROPIC_BASE_URL", model_url.to_owned()));
    all.push(("GOOGLE_GEMINI_BASE_URL", model_url.to_owned()));
    all
}

/// Writes the configuration files that point the CLIs at the model.
pub fn configure(home: &Path, model_url: &str) {
    put(home, ".codex/config.toml", &codex_config(model_url));
    put_json(home, ".gemini/settings.json", &gemini_settings());
    put_json(home, ".config/opencode/opencode.json", &opencode_config(model_url));
    put_json(home, ".pi/agent/models.json", &pi_models(model_url));
    put_json(home, ".pi/agent/settings.json", &pi_settings());
    put_json(home, ".qwen/settings.json", &qwen_settings());
    // In a file of its own, since other CLIs would take an OpenAI key in the environment as meant for them.
    put(
        home,
        ".qwen/.env",
        &format!("OPENAI_BASE_URL={model_url}/v1\nOPENAI_API_KEY=dummy\nOPENAI_MODEL=mock-model\n"),
    );
}

fn codex_config(model_url: &str) -> String {
    format!(
        r#"model = "mock-model"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "{model_url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[features]
plugins = false
"#
    )
}

fn gemini_settings() -> Value {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false, "maxAttempts": 2, "sessionRetention": {"enabled": false}},
        "privacy": {"usageStatisticsEnabled": false},
    })
}

fn opencode_config(model_url: &str) -> Value {
    let capable = json!({
        "name": "Mock", "attachment": true, "reasoning": true,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
    });
    json!({
        // Where it is missing, OpenCode writes it into the file.
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-model",
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "Mock",
            "options": {"baseURL": format!("{model_url}/v1"), "apiKey": "dummy"},
            "models": {"mock-model": capable, "other-model": capable},
        }},
    })
}

fn pi_models(model_url: &str) -> Value {
    let model = |id: &str| {
        json!({
            "id": id, "name": "Mock", "reasoning": true, "input": ["text", "image"],
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 1_000_000, "maxTokens": 4096,
        })
    };
    let models = ["mock-model", "other-model"].map(model);
    json!({"providers": {"mock": {
        "baseUrl": format!("{model_url}/v1"), "apiKey": "dummy", "api": "openai-completions",
        "models": models,
    }}})
}

fn pi_settings() -> Value {
    json!({
        "defaultProvider": "mock", "defaultModel": "mock-model",
        "retry": {"enabled": true, "maxRetries": 1, "baseDelayMs": 100, "provider": {"maxRetries": 0}},
    })
}

fn qwen_settings() -> Value {
    json!({
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false},
    })
}

fn put_json(home: &Path, name: &str, value: &Value) {
    put(home, name, &format!("{value:#}\n"));
}

fn put(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    let folder = path.parent().expect("a configuration file lies in a folder");
    fs::create_dir_all(folder).expect("a folder in the home of the world");
    fs::write(path, text).expect("a configuration file in the home of the world");
}
