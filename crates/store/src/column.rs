//! Values in the columns of the tables: words, JSON and whole numbers.
//!
//! Must never: accept a value that no fold wrote.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes a value for a JSON column.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what is recorded is plain JSON")
}

/// Decodes a value from a JSON column.
pub(crate) fn of_json<T: DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|_| strange(column, text))
}

/// Returns the value whose word is in the column.
pub(crate) fn of_word<T: Copy>(
    column: usize,
    word: &str,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let found = all.iter().copied().find(|one| as_str(*one) == word);
    found.ok_or_else(|| strange(column, word))
}

/// Returns the error for a column value that no fold wrote.
pub(crate) fn strange(column: usize, word: &str) -> rusqlite::Error {
    let why = format!("`{word}` is not a value of this column");
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, why.into())
}

/// Converts a number for the database, which has none larger than `i64::MAX`.
pub(crate) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
