//! How the static binary copies memory. Musl's own begins a `rep movs` for every few bytes, and a stream is normalized in
//! copies of a few bytes: that was a third of the time it took.

use std::arch::asm;

/// Copies `count` bytes, which may be 128 at most: every load comes before the first store, so that the two may overlap.
/// Two pieces that overlap each other in the middle make any length without a loop.
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, count: usize) {
    /// The first and the last `N` of the pieces of type `T`.
    #[inline(always)]
    unsafe fn ends<T: Copy, const N: usize>(to: *mut u8, from: *const u8, count: usize) {
        // SAFETY: the caller has at least N pieces to read and to write, at no particular alignment.
        unsafe {
            let tail = count - N * size_of::<T>();
            let first: [T; N] = from.cast::<[T; N]>().read_unaligned();
            let last: [T; N] = from.add(tail).cast::<[T; N]>().read_unaligned();
            to.cast::<[T; N]>().write_unaligned(first);
            to.add(tail).cast::<[T; N]>().write_unaligned(last);
        }
    }
    // SAFETY: each has as many bytes as its range begins with.
    unsafe {
        match count {
            0 => {}
            1 => *to = *from,
            2..=3 => ends::<u16, 1>(to, from, count),
            4..=7 => ends::<u32, 1>(to, from, count),
            8..=15 => ends::<u64, 1>(to, from, count),
            16..=32 => ends::<u128, 1>(to, from, count),
            33..=64 => ends::<u128, 2>(to, from, count),
            _ => ends::<u128, 4>(to, from, count),
        }
    }
}

/// The C library's `memcpy`.
#[cfg_attr(target_env = "musl", unsafe(export_name = "memcpy"))]
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: as promised to the C library.
    unsafe {
        if count <= 128 {
            copy_short(to, from, count);
        } else {
            forwards(to, from, count);
        }
    }
    to
}

/// The C library's `memmove`. It has to be here as well: musl's falls back on what musl's `memcpy` is made of.
#[cfg_attr(target_env = "musl", unsafe(export_name = "memmove"))]
unsafe extern "C" fn copy_overlapping(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: as promised to the C library.
    unsafe {
        if count <= 128 {
            copy_short(to, from, count);
        } else if (to as usize).wrapping_sub(from as usize) >= count {
            forwards(to, from, count);
        } else {
            backwards(to, from, count);
        }
    }
    to
}

/// From the first byte to the last: piece by piece, or by the processor's own copying where that is worth its start.
unsafe fn forwards(mut to: *mut u8, mut from: *const u8, mut count: usize) {
    // SAFETY: the caller's promise; the direction flag is clear, as everywhere.
    unsafe {
        if count > 2048 {
            asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
            return;
        }
        while count > 128 {
            let piece = from.cast::<[u128; 4]>().read_unaligned();
            to.cast::<[u128; 4]>().write_unaligned(piece);
            // Nothing, but enough to keep the compiler from seeing a loop that it would call `memcpy` for.
            asm!("", options(nostack, preserves_flags));
            (to, from, count) = (to.add(64), from.add(64), count - 64);
        }
        copy_short(to, from, count);
    }
}

/// From the last byte to the first, eight at once.
unsafe fn backwards(to: *mut u8, from: *const u8, count: usize) {
    let head = count % 8;
    // SAFETY: the caller's promise; the direction flag is cleared again.
    unsafe {
        asm!(
            "std", "rep movsq", "cld",
            inout("rcx") count / 8 => _,
            inout("rdi") to.add(count - 8) => _,
            inout("rsi") from.add(count - 8) => _,
            options(nostack)
        );
        copy_short(to, from, head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 31 + at / 251) as u8).collect()
    }

    fn lengths() -> impl Iterator<Item = usize> {
        (0..600).chain(2030..2070).chain([4096, 10_001])
    }

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        for count in lengths() {
            for shift in 0..3 {
                let from = bytes(count + shift);
                let mut to = vec![0xee; count + 32];
                // SAFETY: both have so many bytes.
                let returned = unsafe { copy(to[16..].as_mut_ptr(), from[shift..].as_ptr(), count) };
                assert_eq!(returned, to[16..].as_mut_ptr());
                assert!(to[16..16 + count] == from[shift..], "{count} bytes");
                assert!(
                    to[..16].iter().chain(&to[16 + count..]).all(|byte| *byte == 0xee),
                    "{count} bytes"
                );
            }
        }
    }

    #[test]
    fn what_overlaps_arrives_as_it_was() {
        for count in lengths() {
            for distance in [0, 1, 7, 8, 63, 64, 65, 200, 3000] {
                for (from, to) in [(0, distance), (distance, 0)] {
                    let before = bytes(count + distance);
                    let mut place = before.clone();
                    let start = place.as_mut_ptr();
                    // SAFETY: both lie within `place`.
                    unsafe { copy_overlapping(start.add(to), start.add(from), count) };
                    assert!(
                        place[to..to + count] == before[from..from + count],
                        "{count} bytes by {distance}"
                    );
                    let beside = if to < from {
                        count..count + distance
                    } else {
                        0..distance
                    };
                    let kept = beside.filter(|at| !(to..to + count).contains(at));
                    assert!(
                        kept.into_iter().all(|at| place[at] == before[at]),
                        "{count} bytes by {distance}"
                    );
                }
            }
        }
    }
}
