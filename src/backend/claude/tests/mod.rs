//! What the recordings do not show: plans, and lines that no run of ours has met.

mod plan;
mod stream;

use crate::request::Request;

fn request() -> Request {
    Request::new("hello", "/project")
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = request();
    change(&mut request);
    request
}
