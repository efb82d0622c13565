//! Many waits at once, on one task.

use std::pin::Pin;
use std::task::Poll;

/// Drives all futures side by side; the outputs are in the order of the futures.
pub async fn together<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, slot) in waiting.iter_mut().zip(&mut done) {
            if slot.is_some() {
                continue;
            }
            match future.as_mut().poll(context) {
                Poll::Ready(output) => *slot = Some(output),
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}
