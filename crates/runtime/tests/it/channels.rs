//! Channels: real programs, a still clock, and a sink that can be waited for.

mod adapter;
mod delivery;
mod guide;
mod limits;
mod scene;
mod timer;
mod webhook;
