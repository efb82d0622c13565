//! `-o json`: one result line, at the end.

use super::Report;
use crate::event::{Event, EventResult};

#[derive(Debug, Default)]
pub struct Json;

impl Report for Json {
    fn event(&mut self, _event: &Event<'_>, _out: &mut Vec<u8>) {}

    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>) {
        super::stream_json::result_line(result, out);
    }
}
