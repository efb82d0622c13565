//! The allocator of the static binary. Musl's own asks the kernel for almost every piece: a small run did so two hundred
//! times, and that was a tenth of its time.

use dlmalloc::Dlmalloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(Mutex::new(Dlmalloc::new()));

/// From this size on, musl's way is the better one: such memory is zero without being touched, grows without being copied,
/// and goes back to the kernel at once.
const HUGE: usize = 1 << 20;

/// std's lock is one instruction when nobody else has it, and almost nobody ever has.
struct Allocator(Mutex<Dlmalloc>);

impl Allocator {
    fn heap(&self) -> MutexGuard<'_, Dlmalloc> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// One copy of each function: inlined where memory is asked for, they are 3 % of the binary.
//
// SAFETY: everything is handed on as it is, and a layout is always handed to the same side.
unsafe impl GlobalAlloc for Allocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= HUGE {
            // SAFETY: as promised to us.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: as promised to us.
        unsafe { self.heap().malloc(layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.size() >= HUGE {
            // SAFETY: as promised to us.
            return unsafe { System.dealloc(pointer, layout) };
        }
        // SAFETY: as promised to us.
        unsafe { self.heap().free(pointer, layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= HUGE {
            // SAFETY: as promised to us.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as promised to us.
        unsafe { self.heap().calloc(layout.size(), layout.align()) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (layout.size() >= HUGE, size >= HUGE) {
            // SAFETY: as promised to us.
            (true, true) => unsafe { System.realloc(pointer, layout, size) },
            // SAFETY: as promised to us.
            (false, false) => unsafe { self.heap().realloc(pointer, layout.size(), layout.align(), size) },
            // SAFETY: the size fits the alignment, as promised to us; both hold as many bytes as the smaller one.
            _ => unsafe {
                let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    std::ptr::copy_nonoverlapping(pointer, moved, size.min(layout.size()));
                    self.dealloc(pointer, layout);
                }
                moved
            },
        }
    }
}
