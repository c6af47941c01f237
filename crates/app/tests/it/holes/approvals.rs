//! Holes of the attack review: approvals.
