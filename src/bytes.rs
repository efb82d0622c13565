//! Bytes that are looked for, many at once.
//!
//! The loops are plain, and of a form that the compiler makes a few wide instructions of. A crate that asks the processor
//! first what it can do is faster over megabytes; but on a virtual machine the answer takes longer than all that a small run
//! searches.

/// How many bytes are looked at in one step.
pub const STEP: usize = 16;

/// Where the first byte is that is wanted.
#[inline]
pub fn find(bytes: &[u8], is_wanted: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    let mut passed = 0;
    // Without a way out of the inner loop it is no loop in the end.
    while let Some(step) = bytes[passed..].first_chunk::<STEP>() {
        if step.iter().fold(false, |found, byte| found | is_wanted(*byte)) {
            break;
        }
        passed += STEP;
    }
    let offset = bytes[passed..].iter().position(|byte| is_wanted(*byte))?;
    Some(passed + offset)
}

/// Where `wanted` begins for the first time.
pub fn find_word(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let Some(first) = wanted.first() else { return Some(0) };
    let mut passed = 0;
    loop {
        passed += find(&bytes[passed..], |byte| byte == *first)?;
        if bytes[passed..].starts_with(wanted) {
            return Some(passed);
        }
        passed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_byte_is_found_at_every_place() {
        for length in 0..3 * STEP {
            let mut bytes = vec![b'a'; length];
            assert_eq!(find(&bytes, |byte| byte == b'b'), None);
            for place in (0..length).rev() {
                bytes[place] = b'b';
                assert_eq!(find(&bytes, |byte| byte == b'b'), Some(place));
            }
        }
    }

    proptest! {
        #[test]
        fn words_are_found_where_std_finds_them(text in "[ab]{0,80}", wanted in "[ab]{0,4}") {
            prop_assert_eq!(find_word(text.as_bytes(), wanted.as_bytes()), text.find(&wanted));
        }
    }
}
