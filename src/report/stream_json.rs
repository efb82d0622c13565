//! `-o stream-json`: one object a line, as things happen; the last one is the result.

use super::Report;
use crate::event::{Event, EventResult};
use serde::Serialize;

#[derive(Debug, Default)]
pub struct StreamJson;

impl Report for StreamJson {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        line(event, out);
    }

    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>) {
        result_line(result, out);
    }
}

/// The result with its tag, borrowed.
#[derive(Serialize)]
struct Tagged<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    result: &'a EventResult,
}

pub(super) fn result_line(result: &EventResult, out: &mut Vec<u8>) {
    line(
        &Tagged {
            r#type: "result",
            result,
        },
        out,
    );
}

/// Serializing our own types into memory cannot fail; if it ever did, half a line must not stay behind.
fn line(value: &impl Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    match serde_json::to_writer(&mut *out, value) {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(start),
    }
}
