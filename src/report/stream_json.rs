//! `-o stream-json`: one object a line, as things happen; the last one is the result.

use super::Report;
use crate::event::{Event, EventResult, Usage};
use crate::json_text::{number, string};
use crate::tool::ToolKind;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Default)]
pub struct StreamJson;

impl Report for StreamJson {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if !frequent(event, out) {
            line(event, out);
        }
    }

    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>) {
        result_line(result, out);
    }
}

/// Writes the events that a stream is full of, byte for byte as serde would but several times as fast; whether it was one
/// of them.
fn frequent(event: &Event<'_>, out: &mut Vec<u8>) -> bool {
    match event {
        Event::Text { text } => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            string(text, out);
        }
        Event::Thinking { text } => {
            out.extend_from_slice(br#"{"type":"thinking","text":"#);
            string(text, out);
        }
        Event::ToolStart { id, name, kind, input } => {
            out.extend_from_slice(br#"{"type":"tool_start","id":"#);
            tool(id, name, *kind, out);
            if let Some(input) = input {
                out.extend_from_slice(br#","input":"#);
                out.extend_from_slice(input.get().as_bytes());
            }
        }
        Event::ToolEnd {
            id,
            name,
            kind,
            ok,
            denied,
            output,
        } => {
            out.extend_from_slice(br#"{"type":"tool_end","id":"#);
            tool(id, name, *kind, out);
            out.extend_from_slice(if *ok { br#","ok":true"# } else { br#","ok":false"# });
            out.extend_from_slice(if *denied {
                br#","denied":true"#
            } else {
                br#","denied":false"#
            });
            if let Some(output) = output {
                out.extend_from_slice(br#","output":"#);
                string(output, out);
            }
        }
        Event::Usage { usage, cost_usd: None } => {
            out.extend_from_slice(br#"{"type":"usage","usage":"#);
            counts(usage, out);
        }
        _ => return false,
    }
    out.extend_from_slice(b"}\n");
    true
}

fn counts(usage: &Usage, out: &mut Vec<u8>) {
    let fields: [(&[u8], u64); 6] = [
        (br#"{"inputTokens":"#, usage.input_tokens),
        (br#","cacheReadTokens":"#, usage.cache_read_tokens),
        (br#","cacheWriteTokens":"#, usage.cache_write_tokens),
        (br#","outputTokens":"#, usage.output_tokens),
        (br#","reasoningTokens":"#, usage.reasoning_tokens),
        (br#","totalTokens":"#, usage.total_tokens),
    ];
    for (name, count) in fields {
        out.extend_from_slice(name);
        number(count, out);
    }
    out.push(b'}');
}

fn tool(id: &str, name: &str, kind: ToolKind, out: &mut Vec<u8>) {
    string(id, out);
    out.extend_from_slice(br#","name":"#);
    string(name, out);
    out.extend_from_slice(br#","kind":""#);
    out.extend_from_slice(kind.name().as_bytes());
    out.push(b'"');
}

/// The end of a run, the same for every backend: the line that `-o json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "EventResult")]
pub struct Tagged<'a> {
    #[schemars(extend("const" = "result"))]
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::to_raw_value;
    use std::borrow::Cow;

    fn kind() -> impl Strategy<Value = ToolKind> {
        let others = [ToolKind::Task, ToolKind::Plan, ToolKind::Other];
        prop::sample::select([ToolKind::NAMEABLE, &others].concat())
    }

    proptest! {
        #[test]
        fn frequent_events_are_written_as_serde_would(
            texts in prop::array::uniform3(any::<String>()), kind in kind(), ok in any::<bool>(), denied in any::<bool>(),
            counts in prop::array::uniform6(any::<u64>()), input in prop::option::of(any::<String>()), output in prop::option::of(any::<String>()),
        ) {
            let [text, id, name]: &[Cow<'_, str>; 3] = &texts.map(Cow::Owned);
            let input = input.map(|input| Cow::Owned(to_raw_value(&[input]).unwrap()));
            let [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens] = counts;
            let usage = Usage {
                input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens,
            };
            let events = [
                Event::Usage { usage, cost_usd: None },
                Event::Text { text: text.clone() },
                Event::Thinking { text: text.clone() },
                Event::ToolStart { id: id.clone(), name: name.clone(), kind, input },
                Event::ToolEnd { id: id.clone(), name: name.clone(), kind, ok, denied, output: output.map(Cow::Owned) },
            ];
            for event in events {
                let (mut ours, mut serdes) = (Vec::new(), Vec::new());
                prop_assert!(frequent(&event, &mut ours));
                line(&event, &mut serdes);
                prop_assert_eq!(String::from_utf8(ours), String::from_utf8(serdes));
            }
        }
    }
}
