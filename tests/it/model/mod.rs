//! A scripted model: a real HTTP/SSE server on loopback that plays the vendor for the real CLIs.
//!
//! It speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini generateContent,
//! streaming and not. A test says what the model does next, runs a CLI against [`Model::url`], and looks
//! at the requests that arrived:
//!
//! ```ignore
//! let model = Model::start()
//!     .then(thinking("hmm").and(shell("echo hi > file")))  // tool names follow what the CLI offers
//!     .then(text("all done").chunks(3).pause(ms(300)));
//! …
//! assert_eq!(model.requests()[0].user_texts(), ["the prompt"]);
//! assert!(model.requests()[1].tool_results()[0].text.contains("hi"));
//! ```
//!
//! One step answers one request of the agent. When the script is used up, its last step is repeated; only a
//! tool call is not (the model then says [`OVER`]), unless it was given with [`Model::forever`]. Rules given
//! with [`Model::on`] look at each request first, which suits several runs at once. Requests that a CLI makes
//! on the side (titles, routing, memory) are answered sensibly and take no step: see `side`.
//!
//! | step | the model… |
//! | --- | --- |
//! | `text("…")`, `.chunks(n)`, `.pause(duration)`, `.gated(&gate)` | answers, in pieces, slowly, or piece by piece as the test opens the gate |
//! | `thinking("…")` | reasons first |
//! | `shell(…)`, `write(…)`, `edit(…)`, `read(…)`, `mcp(…)`, `tool(…)` | calls a tool; `.and(…)` puts several things in one turn |
//! | `json(value)` | answers with JSON, through the CLI's structured-output tool where it offers one |
//! | `recall()` | repeats every user text so far, joined by ` \| ` |
//! | `big(n)` | answers with exactly `n` bytes |
//! | `status(429).header("retry-after", "1")` | fails with an HTTP status |
//! | `silence()`, `.then_silence()` | says nothing (more), and keeps the connection |
//! | `.then_drop()` | cuts the connection in the middle of the answer |
//! | `.then_length()` | stops at the output limit |
//!
//! This folder knows wire formats and nothing about which CLI is started how: that is `world`.

mod request;
mod scripted;
mod server;
mod side;
mod step;
#[cfg(test)]
mod tests;
mod tools;
mod wire;

pub use request::Request;
pub use scripted::{Model, OVER};
pub use step::{
    Gate, Step, big, big_text, edit, json, mcp, ms, read, recall, shell, silence, status, text, thinking, tool, write,
};
pub use wire::tokens;
