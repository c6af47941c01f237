//! Holes of the attack review: http.
