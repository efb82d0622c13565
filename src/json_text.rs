//! Strings and numbers of JSON, many bytes at once: nearly all text is read and written as it is.

use crate::bytes;

/// What a JSON string (with its quotes) says, if that is what stands there: no escape, and nothing that JSON forbids.
pub fn as_it_stands(string: &[u8]) -> Option<&str> {
    let text = string.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (plain_length(text) == text.len()).then(|| std::str::from_utf8(text).ok())?
}

/// Appends `text` as a JSON string, with its quotes, as serde_json would write it.
pub fn string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else {
            break;
        };
        escape(*byte, out);
        rest = after;
    }
    out.push(b'"');
}

/// Appends a whole number.
pub fn number(number: u64, out: &mut Vec<u8>) {
    // The most digits that there are.
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// How many bytes at the beginning can stay as they are.
fn plain_length(bytes: &[u8]) -> usize {
    bytes::find(bytes, is_special).unwrap_or(bytes.len())
}

#[cold]
fn escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend([b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::STEP;
    use proptest::prelude::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_character_below_256_is_written_as_serde_json_does_at_every_place() {
        for character in '\0'..='ÿ' {
            for before in [0, 1, STEP - 1, STEP, 2 * STEP + 5] {
                let text = format!("{}{character}{}", "x".repeat(before), "y".repeat(STEP));
                assert_eq!(written(&text), serde_json::to_string(&text).unwrap(), "{character:?}");
            }
        }
    }

    #[test]
    fn only_a_string_that_a_parser_reads_alike_is_taken_as_it_stands() {
        assert_eq!(as_it_stands("\"ö and \u{7f}\"".as_bytes()), Some("ö and \u{7f}"));
        assert_eq!(as_it_stands(b"\"\""), Some(""));
        for bytes in [
            &b""[..],
            b"\"",
            b"\"open",
            b"null",
            br#""a\n""#,
            b"\"a\nb\"",
            b"\"a\"b\"",
            b"\"\xff\"",
        ] {
            assert_eq!(as_it_stands(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_as_it_stands_is_what_serde_json_reads(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let string = [b"\"", &bytes[..], b"\""].concat();
            if let Some(text) = as_it_stands(&string) {
                prop_assert_eq!(text, serde_json::from_slice::<String>(&string).unwrap());
            }
        }

        #[test]
        fn any_text_is_written_as_serde_json_does(text in any::<String>(), plain in "[ -~]{0,200}") {
            for text in [&text, &plain, &format!("{plain}{text}{plain}")] {
                prop_assert_eq!(written(text), serde_json::to_string(text).unwrap());
            }
        }
    }
}
