//! One violation of a schema, in our words.
//!
//! A violation of a choice (`anyOf`) is described by the defects of the nearest branch.
//!
//! Must never: show a sentence of the validator where we have one of our own.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::node::{plain_part, pointer_part};

/// A violation and its place.
#[derive(Debug)]
pub(super) struct SchemaProblem {
    /// The place, as a JSON pointer.
    pub(super) pointer: String,
    /// The defect.
    pub(super) what: SchemaProblemKind,
}

/// The kinds of violations.
#[derive(Debug)]
pub(super) enum SchemaProblemKind {
    UnknownFields { unknown: Vec<String>, known: Vec<String> },
    Missing(String),
    Type(String),
    OneOf(String),
    Matchers,
    Range(String),
    Other(String),
}

impl SchemaProblem {
    /// Returns the field's name for a message.
    pub(super) fn field(&self) -> String {
        let parts: Vec<&str> = self.pointer.split('/').skip(1).collect();
        match parts.as_slice() {
            [] => "the file".to_owned(),
            [.., list, at] if at.parse::<usize>().is_ok() => format!("an entry of `{list}`"),
            [.., last] => format!("`{}`", plain_part(last)),
        }
    }

    /// True if the place is a matcher of an approval rule.
    pub(super) fn is_matcher(&self) -> bool {
        let parts: Vec<&str> = self.pointer.split('/').skip(1).collect();
        let Some(when) = parts.iter().position(|part| *part == "when") else { return false };
        // when / argument, then any number of anyOf|allOf / index.
        let rest = &parts[when + 1..];
        rest.len() % 2 == 1
            && rest[1..].chunks(2).all(|pair| pair[0] == "anyOf" || pair[0] == "allOf")
    }

    /// Returns the pointer of the missing field; `None` for other violations.
    pub(super) fn missing(&self) -> Option<String> {
        match &self.what {
            SchemaProblemKind::Missing(name) => {
                Some(format!("{}/{}", self.pointer, pointer_part(name)))
            }
            SchemaProblemKind::UnknownFields { .. }
            | SchemaProblemKind::Type(_)
            | SchemaProblemKind::OneOf(_)
            | SchemaProblemKind::Matchers
            | SchemaProblemKind::Range(_)
            | SchemaProblemKind::Other(_) => None,
        }
    }

    /// Returns the pointers of the values to remove so that the rest can be read.
    pub(super) fn to_take_out(&self) -> Vec<String> {
        match &self.what {
            SchemaProblemKind::UnknownFields { .. } if self.is_matcher() => {
                vec![self.pointer.clone()]
            }
            SchemaProblemKind::UnknownFields { unknown, .. } => unknown
                .iter()
                .map(|name| format!("{}/{}", self.pointer, pointer_part(name)))
                .collect(),
            SchemaProblemKind::Missing(_)
                if self.pointer.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                vec![self.pointer.clone()]
            }
            SchemaProblemKind::Missing(_) => vec![],
            SchemaProblemKind::Type(_)
            | SchemaProblemKind::OneOf(_)
            | SchemaProblemKind::Matchers
            | SchemaProblemKind::Range(_)
            | SchemaProblemKind::Other(_) => {
                vec![self.pointer.clone()]
            }
        }
    }
}

/// Returns the violations behind one error of the validator.
pub(super) fn problems(error: &ValidationError<'_>, schema: &Value) -> Vec<SchemaProblem> {
    let pointer = error.instance_path().as_str().to_owned();
    let one = |what| vec![SchemaProblem { pointer: pointer.clone(), what }];
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            if let Some(words) = all_words(&pointer, context) {
                return one(SchemaProblemKind::OneOf(option_words(&words)));
            }
            if let Some(words) = all_types(&pointer, context) {
                return one(SchemaProblemKind::Type(words));
            }
            nearest_branch(context, schema)
                .unwrap_or_else(|| one(SchemaProblemKind::Other(error.to_string())))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            one(SchemaProblemKind::UnknownFields {
                unknown: unexpected.clone(),
                known: known_fields(error, schema),
            })
        }
        ValidationErrorKind::Required { property } => {
            one(SchemaProblemKind::Missing(property.as_str().unwrap_or_default().to_owned()))
        }
        ValidationErrorKind::Type { kind } => one(SchemaProblemKind::Type(type_words(kind))),
        ValidationErrorKind::Enum { options } => {
            one(SchemaProblemKind::OneOf(option_words(options)))
        }
        ValidationErrorKind::Constant { expected_value } => {
            one(SchemaProblemKind::OneOf(option_words(expected_value)))
        }
        ValidationErrorKind::Pattern { pattern } if pattern == "^inherit$" => {
            one(SchemaProblemKind::OneOf("write `inherit`, or a list of names".to_owned()))
        }
        ValidationErrorKind::MinProperties { .. } | ValidationErrorKind::MaxProperties { .. } => {
            one(SchemaProblemKind::Matchers)
        }
        kind => match range_words(kind) {
            Some(words) => one(SchemaProblemKind::Range(words)),
            None => one(SchemaProblemKind::Other(error.to_string())),
        },
    }
}

/// Returns all words that the branches accept if each of them requires a word in this place.
fn all_words(pointer: &str, context: &[Vec<ValidationError<'static>>]) -> Option<Value> {
    let mut words = Vec::new();
    for error in context.iter().flatten() {
        if error.instance_path().as_str() != pointer {
            return None;
        }
        match error.kind() {
            ValidationErrorKind::Constant { expected_value } => {
                words.push((**expected_value).clone())
            }
            ValidationErrorKind::Enum { options } => {
                words.extend(options.as_array()?.iter().cloned())
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                words.extend(all_words(pointer, context)?.as_array()?.iter().cloned());
            }
            ValidationErrorKind::Type {
                kind: TypeKind::Single(JsonType::Null | JsonType::String),
            } => {}
            _ => return None,
        }
    }
    (!words.is_empty()).then_some(Value::Array(words))
}

/// Returns all types that the branches accept if each of them requires another type in this place.
/// At the top of a file only a map is meant.
fn all_types(pointer: &str, context: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for errors in context {
        let [error] = errors.as_slice() else { return None };
        match error.kind() {
            ValidationErrorKind::Type { kind: TypeKind::Single(one) }
                if error.instance_path().as_str() == pointer =>
            {
                let known = *one == JsonType::Null || words.contains(&type_word(*one));
                words.extend((!known).then(|| type_word(*one)));
            }
            _ => return None,
        }
    }
    (words.len() > 1 && !pointer.is_empty()).then(|| words.join(" or "))
}

/// True if a branch requires another type of value.
fn wants_another_type(errors: &[ValidationError<'static>]) -> bool {
    errors.iter().all(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }))
}

/// Returns the defects of the branch whose defects lie deepest; of equals, of one that accepts this
/// type. A branch that only accepts `null` is never nearest.
fn nearest_branch(
    context: &[Vec<ValidationError<'static>>],
    schema: &Value,
) -> Option<Vec<SchemaProblem>> {
    let wants_null = |errors: &[ValidationError<'static>]| {
        errors.iter().all(|error| match error.kind() {
            ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) } => true,
            ValidationErrorKind::Constant { expected_value } => expected_value.is_null(),
            _ => false,
        })
    };
    let depth = |errors: &[ValidationError<'static>]| {
        errors.iter().map(|error| error.instance_path().as_str().matches('/').count()).max()
    };
    let nearness =
        |errors: &[ValidationError<'static>]| (depth(errors), !wants_another_type(errors));
    let branches = context.iter().filter(|errors| !wants_null(errors));
    let nearest = branches.max_by_key(|errors| nearness(errors))?;
    Some(nearest.iter().flat_map(|error| problems(error, schema)).collect())
}

/// Returns the field names that the schema defines at the place of the error.
fn known_fields(error: &ValidationError<'_>, schema: &Value) -> Vec<String> {
    let at = error.schema_path().as_str().trim_end_matches("/additionalProperties");
    let properties = schema.pointer(&format!("{at}/properties")).and_then(Value::as_object);
    properties.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => type_word(*one).to_owned(),
        TypeKind::Multiple(several) => {
            let words: Vec<&str> =
                several.iter().filter(|one| *one != JsonType::Null).map(type_word).collect();
            words.join(" or ")
        }
    }
}

fn type_word(one: JsonType) -> &'static str {
    match one {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "nothing",
        JsonType::Number => "a number",
        JsonType::Object => "a map",
        JsonType::String => "text",
    }
}

fn option_words(options: &Value) -> String {
    let one = |value: &Value| match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    match options {
        Value::Array(options) => {
            let words: Vec<String> = options.iter().filter(|one| !one.is_null()).map(one).collect();
            format!("write {}", words.join(" or "))
        }
        other => format!("write {}", one(other)),
    }
}

fn range_words(kind: &ValidationErrorKind) -> Option<String> {
    Some(match kind {
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => format!("may have at most {limit} characters"),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("may be at most {limit}"),
        ValidationErrorKind::Pattern { pattern } => format!("must have the form {pattern}"),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} entries"),
        ValidationErrorKind::MaxItems { limit } => format!("may have at most {limit} entries"),
        _ => return None,
    })
}
