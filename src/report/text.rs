//! `-o text`: what the agent says, as it says it.

use super::Report;
use crate::event::{Event, EventResult};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Whether the text can be shown piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Streamed,
    /// Only the final answer, once it is whole: something will be taken out of it or checked.
    AtTheEnd,
}

#[derive(Debug)]
pub struct Text {
    pace: Pace,
    /// Something was said and not yet ended by a newline.
    open_line: bool,
    /// A tool was used since the last text: what follows is a paragraph of its own.
    after_tool: bool,
    said: bool,
    surroundings: Surroundings,
}

/// What else is on the way of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surroundings {
    /// Nothing: paragraphs are set apart by an empty line.
    #[default]
    Alone,
    /// Lines about tools on the same terminal, which set paragraphs apart. Whoever writes them ends an open line, the last
    /// one too: nobody else knows whether it is open still.
    Progress,
}

impl Text {
    pub fn new(pace: Pace, surroundings: Surroundings) -> Self {
        Self {
            pace,
            open_line: false,
            after_tool: false,
            said: false,
            surroundings,
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<u8>) {
        if self.after_tool && self.said && self.surroundings == Surroundings::Alone {
            out.extend_from_slice(if self.open_line { b"\n\n" } else { b"\n" });
        }
        self.after_tool = false;
        out.extend_from_slice(text.as_bytes());
        self.open_line = !text.ends_with('\n');
        self.said = true;
    }
}

impl Report for Text {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Text { text } if self.pace == Pace::Streamed => self.say(text, out),
            Event::ToolStart { .. } => self.after_tool = true,
            _ => {}
        }
    }

    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>) {
        // An error's own words go to stderr; an answer that never came as deltas is said now.
        let unsaid = self.pace == Pace::AtTheEnd || (!self.said && !result.is_error);
        if unsaid
            && !(result.is_error
                && result
                    .error
                    .as_ref()
                    .is_some_and(|error| error.message == result.response_text))
        {
            self.after_tool = false;
            self.say(&answer(result), out);
        }
        let ours = unsaid || self.surroundings == Surroundings::Alone;
        if self.open_line && ours {
            out.push(b'\n');
        }
        self.open_line = false;
    }
}

/// The answer, of which a program that asked for JSON wants that alone: agents put fences and words around it.
fn answer(result: &EventResult) -> Cow<'_, str> {
    let text = result.response_text.as_str();
    match &result.structured {
        Some(value) if serde_json::from_str::<IgnoredAny>(text).is_err() => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolKind;

    fn render(events: &[Event<'_>]) -> String {
        let (mut reporter, mut out) = (Text::new(Pace::Streamed, Surroundings::Alone), Vec::new());
        for event in events {
            reporter.event(event, &mut out);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_after_a_tool_begins_a_paragraph_of_its_own() {
        let text = |text: &'static str| Event::Text { text: text.into() };
        let tool = Event::ToolStart {
            id: "1".into(),
            name: "Bash".into(),
            kind: ToolKind::Bash,
            input: None,
        };
        assert_eq!(
            render(&[text("I "), text("look."), tool.clone(), text("Done.")]),
            "I look.\n\nDone."
        );
        assert_eq!(render(&[tool, text("Done.\n")]), "Done.\n");
    }
}
