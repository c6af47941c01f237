//! Holes of the attack review: paths.
