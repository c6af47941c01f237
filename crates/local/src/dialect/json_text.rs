//! JSON with a space after commas and colons, as the templates of most models write it.
//!
//! Must never: change the order of keys.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Formats a value as text, with spaces.
pub(crate) fn to_spaced_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, SpacedFormatter))
        .expect("a JSON value has only string keys");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commas_and_colons_are_followed_by_a_space() {
        let value = json!({"b": [1, 2, {}], "a": {"c": "x,y:z"}});
        assert_eq!(to_spaced_json(&value), r#"{"b": [1, 2, {}], "a": {"c": "x,y:z"}}"#);
    }
}
