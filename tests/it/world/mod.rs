//! A scrubbed place in which agentctl and the real CLIs talk to the scripted model.
//!
//! ```ignore
//! let model = Model::start().then(text("hi"));
//! let world = World::new(&model);
//! world.agentctl(["run", "-b", "codex"]).stdin("hello").run().exits(0).stdout_is("hi\n");
//! world.cli(Cli::Claude, ["--version"]).run().exits(0);
//! assert!(world.survivors().is_empty());
//! ```
//!
//! A world has a home, an empty git project, a state directory and a temporary directory of its own, and an environment
//! that holds nothing of the machine's. It is removed when it is dropped, and kept when the test fails or
//! `AGENTCTL_KEEP_WORLD` is set, with the whole of the model's requests in `requests.jsonl`. A failed assertion of an
//! `Outcome` prints the command as it can be typed, both outputs, the raw exchanges that were recorded,
//! and the model's requests in short. With `AGENTCTL_HOLD` set it then waits for a line of input before the test ends:
//! the world is still there, and the model plays its script again for whoever types the command.
//!
//! A scenario for the real CLIs is a function of [`Cli`], turned into five tests by [`for_every_cli!`]:
//! `cargo test --test it SCENARIO` runs it for all five, `AGENTCTL_REAL_BACKEND=codex` narrows to one. On a
//! machine without the CLIs they say so and pass; with `AGENTCTL_REAL=require` they fail. The CLIs are looked
//! for in `target/clis`, or in `AGENTCTL_TEST_CLIS`.
//!
//! | file | owns |
//! | --- | --- |
//! | `cli` | the CLIs: their names, how each is pointed at the model, its shortest headless command |
//! | `place` | `World`: directories, environment, survivors |
//! | `run` | `Run`, `Running`: start, feed, wait |
//! | `outcome` | `Outcome`: how it went, and assertions |
//! | `real` | whether the real CLIs can be used here |
//! | `tree` | snapshots of directories |

mod cli;
mod outcome;
mod place;
pub mod real;
mod run;
#[cfg(test)]
mod tests;
mod tree;

pub use cli::Cli;
pub use outcome::Outcome;
pub use place::World;
pub(crate) use real::for_every_cli;
pub use run::Run;
pub use tree::Tree;
