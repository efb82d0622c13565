//! What a run of Claude used. The tested versions tell the tokens and the cost of their own process. Newer ones
//! tell, in the same fields, those of the whole conversation: there the share of the run is what was added.

use super::newer::Release;
use super::wire::ResultLine;
use crate::backend::Output;
use crate::event::Usage;
use crate::request::{Conversation, Request};
use serde::{Deserialize, Serialize};

/// What is remembered for the next run of a conversation, where the CLI counts from its beginning.
pub const CARRIED_SPENDING: &str = "spending";

/// What a conversation has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Total {
    usage: Usage,
    cost: f64,
}

#[derive(Debug, Default)]
pub struct Spending {
    /// Before this run; `None` if nobody knows.
    before: Option<Total>,
    release: Release,
}

impl Spending {
    pub fn new(request: &Request) -> Self {
        let before = match &request.conversation {
            Conversation::Fresh { .. } => Some(Total::default()),
            Conversation::Resume(earlier) | Conversation::Fork { of: earlier, .. } => {
                let carried = earlier.carried.get(CARRIED_SPENDING);
                carried.and_then(|total| serde_json::from_str(total).ok())
            }
        };
        Self {
            before,
            release: Release::Tested,
        }
    }

    pub fn told_by(&mut self, release: Release) {
        self.release = release;
    }

    /// Tells what the run used, and keeps what the next one needs to know.
    pub fn tell(&self, result: &ResultLine<'_>, out: &mut Output<'_>) {
        let turn = result.usage.map(Usage::from).unwrap_or_default();
        let by_model = by_model(result);
        let (usage, cost) = match (self.release, self.before) {
            (Release::Tested, _) => (by_model, result.total_cost_usd),
            // What the turn itself used is told apart; what its subagents did is lost in the sum.
            (Release::Newer, None) => (turn, None),
            (Release::Newer, Some(before)) => {
                let added = by_model.minus(before.usage);
                let cost = result.total_cost_usd.map(|cost| (cost - before.cost).max(0.0));
                // Less than the turn alone: then it did not count from the beginning after all.
                match turn.minus(added) == Usage::default() {
                    true => (added, cost),
                    false => (by_model, result.total_cost_usd),
                }
            }
        };
        let usage = if usage == Usage::default() { turn } else { usage };
        let told = if usage == Usage::default() {
            out.tally().usage
        } else {
            usage
        };
        out.spent(told, cost);
        let total = Total {
            usage: by_model,
            cost: result.total_cost_usd.unwrap_or_default(),
        };
        if self.release == Release::Newer
            && let Ok(total) = serde_json::to_string(&total)
        {
            out.carry(CARRIED_SPENDING, total);
        }
    }
}

/// `modelUsage` counts everything (subagents, repeated requests); `usage` is the turn's share of it and the only figure
/// that older CLIs tell.
fn by_model(result: &ResultLine<'_>) -> Usage {
    result.model_usage.values().fold(Usage::default(), |sum, model| {
        sum.plus(Usage {
            input_tokens: model.input_tokens,
            cache_read_tokens: model.cache_read_input_tokens,
            cache_write_tokens: model.cache_creation_input_tokens,
            output_tokens: model.output_tokens,
            ..Usage::default()
        })
    })
}
