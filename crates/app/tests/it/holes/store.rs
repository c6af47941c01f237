//! Holes of the attack review: store.
