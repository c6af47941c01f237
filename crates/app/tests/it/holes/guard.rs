//! Holes of the attack review: guard.
