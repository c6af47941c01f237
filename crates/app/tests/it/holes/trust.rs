//! Holes of the attack review: trust.
