//! A rough count of tokens, before any model was asked.
//!
//! Must never: be used for billing; the provider's own count is the one that is paid.

/// About how many tokens a text has: four plain characters to one, any other character one.
pub fn estimate(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}
