//! Shortened ids: the beginning or the end of an id is enough if only one id has it.
//!
//! Must never: guess between two ids.

use rusqlite::params;

use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::CANDIDATES_MAX;

impl Ledger {
    /// Resolves an id or a part of an id to one id of a table.
    pub(crate) fn find(
        &self,
        what: &'static str,
        table: &str,
        prefix: &str,
        text: &str,
    ) -> Result<String, Error> {
        let bare = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
        let bare = bare.unwrap_or(text);
        let is_part = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let whole = format!("{prefix}_{bare}");
        // `~` sorts after every character that an id can have.
        let beyond = format!("{whole}~");
        let mut found = if is_part {
            self.ask(|sql| {
                sql.prepare_cached(&format!(
                    "SELECT id FROM {table} WHERE id >= ?1 AND id < ?2
                     UNION SELECT id FROM {table} WHERE substr(id, -?3) = ?4 LIMIT ?5"
                ))?
                .query_map(
                    params![whole, beyond, bare.len() as i64, bare, CANDIDATES_MAX as i64],
                    |row| row.get::<_, String>(0),
                )?
                .collect::<rusqlite::Result<Vec<String>>>()
            })?
        } else {
            Vec::new()
        };
        let text = text.to_owned();
        match (found.pop(), found.is_empty()) {
            (Some(id), true) => Ok(id),
            (Some(id), false) => {
                found.push(id);
                Err(Error::Ambiguous { what, text, found })
            }
            (None, _) => Err(Error::Unknown { what, text }),
        }
    }
}
