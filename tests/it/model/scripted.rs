//! The handle that a test holds: the script, the rules, and the record of what arrived.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::request::{Purpose, Request};
use super::server::Server;
use super::step::{Step, text};

/// What the model says when the script ended with a tool call.
pub const OVER: &str = "the script is over";

/// What the model says when it was given no script.
const UNSCRIPTED: &str = "the model has no script";

type Rule = Box<dyn FnMut(&Request) -> Option<Step> + Send>;

/// A scripted model. It stops, and cuts what is still open, when it is dropped.
pub struct Model {
    shared: Arc<Shared>,
    server: Server,
}

/// What the server thread and the test both hold.
#[derive(Default)]
pub struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    /// The steps of the script that were taken, the last of which may be repeated.
    played: Vec<Step>,
    forever: Option<Step>,
    rules: Vec<Rule>,
    requests: Vec<Request>,
}

impl Model {
    /// Listens on a free port of the loopback interface.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let server = Server::start(Arc::clone(&shared));
        Self { shared, server }
    }

    /// The next step of the script.
    #[must_use]
    pub fn then(self, step: Step) -> Self {
        self.push(step);
        self
    }

    /// Once the script is used up, this step answers every further request, be it a tool call.
    #[must_use]
    pub fn forever(self, step: Step) -> Self {
        self.shared.state().forever = Some(step);
        self
    }

    /// Answers the requests for which the rule has a step; they take none from the script.
    #[must_use]
    pub fn on(self, rule: impl FnMut(&Request) -> Option<Step> + Send + 'static) -> Self {
        self.shared.state().rules.push(Box::new(rule));
        self
    }

    /// Adds a step while the model is already in use, for instance before a second turn.
    pub fn push(&self, step: Step) {
        self.shared.state().script.push_back(step);
    }

    /// Begins the script anew.
    pub fn rewind(&self) {
        let mut state = self.shared.state();
        let state = &mut *state;
        let played = state.played.drain(..).rev();
        played.for_each(|step| state.script.push_front(step));
    }

    /// `http://127.0.0.1:PORT`, without a final slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The turns of the agent so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        let mut requests = self.all_requests();
        requests.retain(|request| request.purpose == Purpose::Agent);
        requests
    }

    /// Everything that arrived: also side requests, counts of tokens and lists of models.
    pub fn all_requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// The newest turn of the agent.
    pub fn last_request(&self) -> Request {
        self.requests().pop().expect("the model was asked nothing")
    }

    /// Waits until the agent has made this many turns; false if it did not in time.
    pub fn wait_for_requests(&self, count: usize, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.state();
        while state.agent_turns() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.arrived.wait_timeout(state, left).expect("model lock").0;
        }
        true
    }

    /// The requests, shortened, for a failure report.
    pub fn report(&self) -> String {
        let requests = self.all_requests();
        if requests.is_empty() {
            return "  (none)".to_owned();
        }
        let lines: Vec<_> = requests
            .iter()
            .map(|request| format!("  {}", request.summary()))
            .collect();
        lines.join("\n")
    }
}

impl Shared {
    /// Keeps a request, and says how the script answers it if it is a turn of the agent.
    pub fn take(&self, request: &Request) -> Option<Step> {
        let mut state = self.state();
        state.requests.push(request.clone());
        self.arrived.notify_all();
        (request.purpose == Purpose::Agent).then(|| state.next(request))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    fn next(&mut self, request: &Request) -> Step {
        if let Some(step) = self.rules.iter_mut().find_map(|rule| rule(request)) {
            return step;
        }
        if let Some(step) = self.script.pop_front() {
            self.played.push(step.clone());
            return step;
        }
        if let Some(step) = &self.forever {
            return step.clone();
        }
        match self.played.last() {
            Some(step) if step.calls_a_tool() => text(OVER),
            Some(step) => step.clone(),
            None => text(UNSCRIPTED),
        }
    }

    fn agent_turns(&self) -> usize {
        self.requests
            .iter()
            .filter(|request| request.purpose == Purpose::Agent)
            .count()
    }
}
