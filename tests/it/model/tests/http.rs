//! A plain HTTP client, on a bare socket: nothing between the test and the bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::model::Model;

/// What came back until the connection was closed, with the chunk sizes taken out of the body.
pub struct Exchange {
    pub head: String,
    pub body: String,
    /// Whether the last chunk was announced as such, so that nothing is missing.
    pub complete: bool,
}

pub fn connect(model: &Model, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(model.address()).expect("the model listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: model\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .expect("the request goes out");
    stream
}

pub fn exchange(model: &Model, method: &str, path: &str, headers: &str, body: &str) -> Exchange {
    let mut raw = Vec::new();
    connect(model, method, path, headers, body)
        .read_to_end(&mut raw)
        .expect("the answer comes in");
    let raw = String::from_utf8(raw).expect("the answer is text");
    let (head, mut rest) = raw.split_once("\r\n\r\n").expect("a head and a body");
    let mut body = String::new();
    let mut complete = false;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            complete = true;
            break;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    Exchange {
        head: head.to_owned(),
        body,
        complete,
    }
}

pub fn ask(model: &Model, path: &str, body: &Value) -> Exchange {
    exchange(model, "POST", path, "", &body.to_string())
}

pub fn whole(model: &Model, path: &str, body: &Value) -> Value {
    let exchange = ask(model, path, body);
    serde_json::from_str(&exchange.body).unwrap_or_else(|error| panic!("{error}: {}", exchange.body))
}

pub fn events(model: &Model, path: &str, body: &Value) -> Vec<Value> {
    let exchange = ask(model, path, body);
    assert!(exchange.complete, "the stream broke off: {}", exchange.body);
    let data = exchange.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("JSON in an event"))
        .collect()
}

pub fn read_until(stream: &mut TcpStream, seen: &mut String, wanted: &str) {
    let mut buffer = [0; 4096];
    while !seen.contains(wanted) {
        let count = stream.read(&mut buffer).expect("more of the answer");
        assert_ne!(count, 0, "the answer ended before {wanted}: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}
