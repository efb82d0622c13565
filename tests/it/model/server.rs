//! The HTTP side: takes requests, asks the script, and streams the answer at the script's pace.
//!
//! It runs on a thread of its own with its own runtime, so that a synchronous test can use it. Nothing here
//! knows a vendor's format beyond which path belongs to which wire.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame as BodyFrame, Incoming};
use hyper::{Method, Response, StatusCode, header, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::request::{Conversation, Purpose, Request};
use super::scripted::Shared;
use super::side;
use super::step::{End, Failure, Pace, Part, Reply, Step, ms};
use super::tools;
use super::wire::{Answer, Block, Frame, Wire};

/// A body that is written while it is sent; an error in the channel cuts the connection.
struct ChannelBody(mpsc::Receiver<io::Result<Bytes>>);

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<BodyFrame<Bytes>>>> {
        self.0
            .poll_recv(context)
            .map(|next| next.map(|bytes| bytes.map(BodyFrame::data)))
    }
}

/// The running server; dropping it cuts every connection and ends the thread.
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(shared: Arc<Shared>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (address_known, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the model");
            runtime.block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0))
                    .await
                    .expect("a free port on loopback");
                address_known
                    .send(listener.local_addr().expect("the port of the model"))
                    .expect("the test is waiting");
                tokio::select! {
                    () = accept(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the model starts");
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been printed; the test fails by what it sees of it.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| handle(request, Arc::clone(&shared)));
            // A client that goes away in the middle is part of what is tested.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn handle(request: hyper::Request<Incoming>, shared: Arc<Shared>) -> Result<Response<ChannelBody>, Infallible> {
    let (parts, body) = request.into_parts();
    let path = parts
        .uri
        .path_and_query()
        .map_or_else(|| "/".to_owned(), |path| path.to_string());
    let headers = parts.headers.iter();
    let mut request = Request {
        method: parts.method.to_string(),
        path,
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body: Value::Null,
        wire: None,
        purpose: Purpose::Other,
        conversation: Conversation::default(),
    };
    let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Ok(document(400, &json!({"error": "the request broke off"})));
    };
    if parts.method != Method::POST {
        shared.take(&request);
        return Ok(if request.header("upgrade").is_some() {
            document(404, &json!({"error": "no websockets here"}))
        } else {
            document(
                200,
                &json!({"object": "list", "data": [{"id": "mock-model", "object": "model"}], "models": []}),
            )
        });
    }
    if let Some(encoding) = request
        .header("content-encoding")
        .filter(|encoding| *encoding != "identity")
    {
        let error = format!("the scripted model reads no {encoding} bodies");
        shared.take(&request);
        return Ok(document(415, &json!({"error": {"message": error}})));
    }
    request.body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(post(request, &shared).await)
}

async fn post(mut request: Request, shared: &Shared) -> Response<ChannelBody> {
    let Some(wire) = Wire::of(&request.path) else {
        shared.take(&request);
        // A count of tokens, on two wires; anything else is telemetry and content with any answer.
        return document(200, &json!({"input_tokens": 10, "totalTokens": 10}));
    };
    request.wire = Some(wire);
    match wire.read(&request.body) {
        Ok(conversation) => request.conversation = conversation,
        Err(error) => {
            shared.take(&request);
            let message = format!("the scripted model cannot read this request: {error}");
            return document(400, &json!({"error": {"message": message}}));
        }
    }
    let aside = side::answer(&request.body, &request.conversation);
    request.purpose = if aside.is_some() { Purpose::Side } else { Purpose::Agent };
    let scripted = shared.take(&request);
    match aside.or(scripted) {
        Some(Step::Reply(reply)) => answer(&request, wire, &reply).await,
        Some(Step::Failure(failure)) => fail(wire, &failure),
        Some(Step::Silence) | None => std::future::pending().await,
    }
}

async fn answer(request: &Request, wire: Wire, reply: &Reply) -> Response<ChannelBody> {
    let blocks = reply
        .parts
        .iter()
        .map(|part| block(part, request, wire, &reply.pace))
        .collect();
    let id = Uuid::new_v4().simple().to_string();
    let answer = Answer {
        id,
        model: request.model(),
        blocks,
        end: reply.end,
    };
    if wire.streams(&request.path, &request.body) {
        return stream(wire.frames(&answer).finish(reply.end), reply.pace.clone());
    }
    let whole = wire.whole(&answer);
    match reply.end {
        End::Complete | End::Length => document(200, &whole),
        End::Silence => std::future::pending().await,
        End::Drop => {
            let mut text = whole.to_string();
            text.truncate(1);
            stream(vec![Frame::Send(text), Frame::Drop], reply.pace.clone())
        }
    }
}

fn block(part: &Part, request: &Request, wire: Wire, pace: &Pace) -> Block {
    let conversation = &request.conversation;
    match part {
        Part::Thinking(text) => Block::Thinking(text.clone()),
        Part::Text(text) => Block::Text(cut(text, pace.chunks)),
        Part::Recall => Block::Text(cut(&conversation.users.join(" | "), pace.chunks)),
        Part::Json(value) => match tools::structured(value, conversation) {
            Some(call) => Block::Call(call),
            None => Block::Text(cut(&value.to_string(), pace.chunks)),
        },
        Part::Call(call) => Block::Call(tools::resolve(call, conversation, wire)),
    }
}

/// Cuts a text into about equal chunks, never inside a character.
fn cut(text: &str, chunks: usize) -> Vec<String> {
    let size = text.len().div_ceil(chunks.max(1)).max(1);
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let (head, tail) = rest.split_at(rest.ceil_char_boundary(size));
        out.push(head.to_owned());
        rest = tail;
    }
    if !rest.is_empty() || out.is_empty() {
        out.push(rest.to_owned());
    }
    out
}

fn stream(frames: Vec<Frame>, pace: Pace) -> Response<ChannelBody> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        for frame in frames {
            let sent = match frame {
                Frame::Send(text) => sender.send(Ok(Bytes::from(text))).await,
                Frame::Between => {
                    wait(&pace).await;
                    Ok(())
                }
                Frame::Drop => sender.send(Err(io::Error::other("dropped by the script"))).await,
                Frame::Silence => {
                    sender.closed().await;
                    Ok(())
                }
            };
            if sent.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(ChannelBody(receiver));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("text/event-stream"),
    );
    response
}

async fn wait(pace: &Pace) {
    tokio::time::sleep(pace.pause).await;
    if let Some(gate) = &pace.gate {
        while !gate.try_pass() {
            tokio::time::sleep(ms(5)).await;
        }
    }
}

fn fail(wire: Wire, failure: &Failure) -> Response<ChannelBody> {
    let body = failure
        .body
        .clone()
        .unwrap_or_else(|| wire.failure(failure.status).to_string());
    let mut response = bytes(failure.status, body);
    for (name, value) in &failure.headers {
        let name = header::HeaderName::from_bytes(name.as_bytes()).expect("a header name in the script");
        response
            .headers_mut()
            .insert(name, value.parse().expect("a header value in the script"));
    }
    response
}

fn document(status: u16, body: &Value) -> Response<ChannelBody> {
    bytes(status, body.to_string())
}

fn bytes(status: u16, body: String) -> Response<ChannelBody> {
    let (sender, receiver) = mpsc::channel(1);
    sender
        .try_send(Ok(Bytes::from(body)))
        .expect("an empty channel has room");
    let mut response = Response::new(ChannelBody(receiver));
    *response.status_mut() = StatusCode::from_u16(status).expect("an HTTP status in the script");
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    response
}
