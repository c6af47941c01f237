//! Holes of the attack review: text.
