//! Questions about jobs, about hooks and what they did, and about what may run.
//!
//! Must never: read all that ever ran to answer a question about what is open.

use agentry_protocol::event_hook::EventHook;
use agentry_protocol::inbound::EventId;
use agentry_protocol::job::JobState;
use agentry_protocol::trust::{KnownDefinitions, TrustedAddresses, TrustedPrograms};
use agentry_protocol::{EventHookId, JobId, RunId, SessionId};
use rusqlite::params;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::HOOK_STATS_WINDOW;
use crate::view::{
    self, EventHookRow, HookEventRow, HookStats, InvocationRow, JobRow, RecordedDefinitions, whole,
};

/// Which jobs are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only those that stand so.
    pub state: Option<JobState>,
    /// At most so many, the newest.
    pub last: Option<usize>,
}

/// Which runnings of hooks are wanted: those that fit all that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvocationFilter {
    /// Of this hook.
    pub hook: Option<EventHookId>,
    /// Set off from this time on, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Only those that did not work.
    pub errors_only: bool,
    /// At most so many, the newest.
    pub last: Option<usize>,
}

impl Ledger {
    /// A job.
    pub fn job(&self, id: &JobId) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| JobRow::by_id(sql, id))
    }

    /// The jobs that are not over, oldest first, at most so many.
    pub fn jobs_open(&self, limit: usize) -> Result<Vec<JobRow>, Error> {
        let of = "ended_seq IS NULL ORDER BY queued_seq LIMIT ?1";
        self.ask(|sql| JobRow::all(sql, of, [whole(limit as u64)]))
    }

    /// The jobs of a run, oldest first.
    pub fn jobs_of_run(&self, run: &RunId) -> Result<Vec<JobRow>, Error> {
        self.ask(|sql| JobRow::all(sql, "run = ?1 ORDER BY queued_seq", [run.as_str()]))
    }

    /// The jobs that somebody has and whose time is over, the longest over first.
    pub fn jobs_expired(&self, now: u64) -> Result<Vec<JobRow>, Error> {
        let of = "state IN ('leased', 'running') AND expires_at <= ?1 ORDER BY expires_at, id";
        self.ask(|sql| JobRow::all(sql, of, [whole(now)]))
    }

    /// The job that has a workspace for itself.
    pub fn job_holding(&self, workspace: &str) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| match view::workspace_holder(sql, workspace)? {
            Some(id) => JobRow::by_id(sql, &id),
            None => Ok(None),
        })
    }

    /// The jobs that fit, the newest first.
    pub fn jobs(&self, filter: JobFilter) -> Result<Vec<JobRow>, Error> {
        let last = filter.last.map_or(-1, |last| whole(last as u64));
        self.ask(|sql| match filter.state {
            None => JobRow::all(sql, "1 ORDER BY queued_seq DESC LIMIT ?1", [last]),
            Some(state) => {
                let of = "state = ?1 ORDER BY queued_seq DESC LIMIT ?2";
                JobRow::all(sql, of, params![state.as_str(), last])
            }
        })
    }

    /// The job that an id or a part of an id means.
    pub fn find_job(&self, text: &str) -> Result<JobId, Error> {
        self.find("job", "jobs", JobId::PREFIX, text).map(JobId::new)
    }

    /// What the hooks of a session keep about it.
    pub fn agent_state(&self, session: &SessionId) -> Result<Map<String, Value>, Error> {
        self.ask(|sql| view::agent_state(sql, session))
    }

    /// The hooks that look at events, by name; on request also those that are gone.
    pub fn event_hooks(&self, include_deleted: bool) -> Result<Vec<EventHookRow>, Error> {
        let of = if include_deleted { "1" } else { "deleted_at IS NULL" };
        self.ask(|sql| EventHookRow::all(sql, of))
    }

    /// The hooks that are neither gone nor disabled, by name; some of them may be paused.
    pub fn event_hooks_enabled(&self) -> Result<Vec<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::all(sql, "deleted_at IS NULL AND enabled = 1"))
    }

    /// A hook that looks at events, also one that is gone.
    pub fn event_hook(&self, id: &EventHookId) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "id = ?1", [id.as_str()]))
    }

    /// The hook of a name that is not gone.
    pub fn event_hook_named(&self, name: &str) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "name = ?1 AND deleted_at IS NULL", [name]))
    }

    /// Every version of a hook, the first one first.
    pub fn event_hook_versions(&self, id: &EventHookId) -> Result<Vec<EventHook>, Error> {
        self.ask(|sql| view::hook_versions(sql, id))
    }

    /// The hook that a name, an id or a part of an id means.
    pub fn find_event_hook(&self, text: &str) -> Result<EventHookId, Error> {
        match self.event_hook_named(text)? {
            Some(row) => Ok(row.hook.id),
            None => {
                self.find("hook", "event_hooks", EventHookId::PREFIX, text).map(EventHookId::new)
            }
        }
    }

    /// The last entry that changed which hooks are set off; zero if there is none.
    pub fn event_hooks_changed(&self) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM event_hooks_changed")?
                .query_row([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
        })
    }

    /// The events whose hooks are not through, oldest first, at most so many.
    pub fn hook_events_open(&self, limit: usize) -> Result<Vec<HookEventRow>, Error> {
        self.ask(|sql| HookEventRow::open(sql, whole(limit as u64)))
    }

    /// The runnings of hooks that fit, the newest first.
    pub fn invocations(&self, filter: &InvocationFilter) -> Result<Vec<InvocationRow>, Error> {
        let mut of = "time >= ?1".to_owned();
        if filter.hook.is_some() {
            of.push_str(" AND hook = ?3");
        }
        if filter.errors_only {
            of.push_str(" AND error IS NOT NULL");
        }
        of.push_str(" ORDER BY seq DESC, place DESC LIMIT ?2");
        let since = whole(filter.since.unwrap_or_default());
        let last = filter.last.map_or(-1, |last| whole(last as u64));
        self.ask(|sql| match &filter.hook {
            None => InvocationRow::all(sql, &of, params![since, last]),
            Some(hook) => InvocationRow::all(sql, &of, params![since, last, hook.as_str()]),
        })
    }

    /// The runnings that an event set off, in that order.
    pub fn invocations_of_event(&self, event: &EventId) -> Result<Vec<InvocationRow>, Error> {
        self.ask(|sql| InvocationRow::all(sql, "event = ?1 ORDER BY place", [event.as_str()]))
    }

    /// How a hook did in its last runnings.
    pub fn hook_stats(&self, hook: &EventHookId) -> Result<HookStats, Error> {
        self.ask(|sql| view::hook_stats(sql, hook, whole(HOOK_STATS_WINDOW as u64)))
    }

    /// What may run in a directory, and the entry that says so.
    pub fn trusted(&self, path: &str) -> Result<Option<(TrustedPrograms, u64)>, Error> {
        self.ask(|sql| view::trusted(sql, path))
    }

    /// The addresses that a project may decide.
    pub fn trusted_addresses(&self, path: &str) -> Result<Option<TrustedAddresses>, Error> {
        self.ask(|sql| view::trusted_addresses(sql, path))
    }

    /// All addresses that projects may decide, by directory.
    pub fn all_trusted_addresses(&self) -> Result<Vec<TrustedAddresses>, Error> {
        self.ask(view::all_trusted_addresses)
    }

    /// The definitions of a directory as they were recorded last.
    pub fn known_definitions(
        &self,
        path: &str,
        which: RecordedDefinitions,
    ) -> Result<Option<KnownDefinitions>, Error> {
        self.ask(|sql| view::known_definitions(sql, path, which))
    }

    /// All that may run, by directory, each with the entry that says so.
    pub fn all_trusted(&self) -> Result<Vec<(TrustedPrograms, u64)>, Error> {
        self.ask(view::all_trusted)
    }
}
