//! Holes of the attack review: home.
