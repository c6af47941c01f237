//! Finds the first difference between two requests.
//!
//! Must never: treat two bodies as equal if they differ in more than our own ids.

use std::collections::HashMap;

use serde_json::Value;

use crate::http_failure::shown;

/// The prefixes of our records' ids; 26 letters follow.
const PREFIXES: [&str; 5] = ["ses_", "trn_", "run_", "call_", "apr_"];
const LETTERS: usize = 26;

/// Returns the part of the URL after the host.
pub(super) fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// Returns the first difference, with its place in the body.
pub(super) fn body_difference(recorded: &Value, now: &Value) -> Option<String> {
    let mut walk = BodyDiff { then: HashMap::new(), now: HashMap::new(), place: String::new() };
    walk.difference(recorded, now)
}

struct BodyDiff {
    /// Ids of the recording, each with its order of appearance.
    then: HashMap<String, usize>,
    now: HashMap<String, usize>,
    place: String,
}

impl BodyDiff {
    fn difference(&mut self, then: &Value, now: &Value) -> Option<String> {
        match (then, now) {
            (Value::Object(then), Value::Object(now)) => {
                let keys = then.keys().chain(now.keys().filter(|key| !then.contains_key(*key)));
                for key in keys {
                    let (left, right) = (then.get(key), now.get(key));
                    if let Some(found) = self.below(key, left, right) {
                        return Some(found);
                    }
                }
                None
            }
            (Value::Array(then), Value::Array(now)) => {
                for at in 0..then.len().max(now.len()) {
                    if let Some(found) = self.below(&at.to_string(), then.get(at), now.get(at)) {
                        return Some(found);
                    }
                }
                None
            }
            (Value::String(left), Value::String(right)) => {
                let equal = normal(left, &mut self.then) == normal(right, &mut self.now);
                (!equal).then(|| self.told(Some(then), Some(now)))
            }
            (then, now) => (then != now).then(|| self.told(Some(then), Some(now))),
        }
    }

    fn below(&mut self, key: &str, then: Option<&Value>, now: Option<&Value>) -> Option<String> {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(key);
        let found = match (then, now) {
            (Some(then), Some(now)) => self.difference(then, now),
            (then, now) => Some(self.told(then, now)),
        };
        self.place.truncate(length);
        found
    }

    fn told(&self, then: Option<&Value>, now: Option<&Value>) -> String {
        let say = |value: Option<&Value>| match value {
            Some(value) => format!("was `{}`", shown(&value.to_string())),
            None => "was not there".to_owned(),
        };
        let now = say(now).replacen("was", "is", 1);
        format!("{} {} and {now}", self.place, say(then))
    }
}

/// Returns the text with our own ids replaced by their order of appearance.
fn normal(text: &str, seen: &mut HashMap<String, usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, id)) = next_id(rest) {
        let count = seen.len();
        let number = *seen.entry(id.to_owned()).or_insert(count);
        out.push_str(&rest[..at]);
        out.push_str(&format!("{}#{number}", &id[..id.len() - LETTERS]));
        rest = &rest[at + id.len()..];
    }
    out.push_str(rest);
    out
}

fn next_id(text: &str) -> Option<(usize, &str)> {
    let found = |prefix: &&str| {
        let is_id = |at: &usize| {
            let letters = text.as_bytes().get(at + prefix.len()..at + prefix.len() + LETTERS);
            letters.is_some_and(|all| {
                all.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
            })
        };
        let at = text.match_indices(*prefix).map(|(at, _)| at).find(is_id)?;
        Some((at, &text[at..at + prefix.len() + LETTERS]))
    };
    PREFIXES.iter().filter_map(found).min_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "call_00000000000000000000000001";
    const TWO: &str = "call_00000000000000000000000002";
    const OTHER: &str = "call_0000000000000000000000000z";

    #[test]
    fn the_first_difference_is_named_by_its_place() {
        let then = json!({"a": [1, {"b": "x"}], "c": 1});
        assert_eq!(body_difference(&then, &then), None);
        let now = json!({"a": [1, {"b": "y"}], "c": 2});
        assert_eq!(body_difference(&then, &now).unwrap(), "/a/1/b was `\"x\"` and is `\"y\"`");
        let now = json!({"a": [1, {"b": "x"}, 3], "c": 1});
        assert_eq!(body_difference(&then, &now).unwrap(), "/a/2 was not there and is `3`");
        let now = json!({"a": [1, {"b": "x"}]});
        assert_eq!(body_difference(&then, &now).unwrap(), "/c was `1` and is not there");
    }

    #[test]
    fn our_ids_are_equal_when_they_stand_in_the_same_order() {
        let then = json!([ONE, format!("of {TWO}."), ONE]);
        assert_eq!(body_difference(&then, &json!([OTHER, format!("of {ONE}."), OTHER])), None);
        assert!(body_difference(&then, &json!([OTHER, format!("of {OTHER}."), OTHER])).is_some());
        assert!(body_difference(&then, &json!([OTHER, "of call_short.", OTHER])).is_some());
    }

    #[test]
    fn the_path_is_what_comes_after_the_host() {
        assert_eq!(path("http://127.0.0.1:80/v1/x?y=1"), "/v1/x?y=1");
        assert_eq!(path("https://host"), "/");
    }
}
