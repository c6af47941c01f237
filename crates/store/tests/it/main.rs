//! Tests of the ledger on a real file.

mod artifact;
mod chain;
mod commit;
mod event_hooks;
mod inbounds;
mod jobs;
mod lookup;
mod loss;
mod older_ledger;
mod ownership;
mod past;
mod processes;
mod requests;
mod round_trip;
mod scene;
mod spending;
mod tail;
mod tokens;
mod version;
mod views;
mod views_random;
