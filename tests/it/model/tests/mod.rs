//! The model by itself, over plain HTTP: what it promises to every test that builds on it.

mod bodies;
mod calls;
mod http;
mod pace;
mod script;
mod wires;
