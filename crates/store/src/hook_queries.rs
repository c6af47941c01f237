//! Queries on jobs, event hooks and their invocations, and trust.
//!
//! Must never: read the whole past to answer a question about open jobs or invocations.

use agentry_protocol::event_hook::EventHook;
use agentry_protocol::inbound::EventId;
use agentry_protocol::job::JobState;
use agentry_protocol::trust::{KnownDefinitions, TrustedAddresses, TrustedPrograms};
use agentry_protocol::{EventHookId, JobId, RunId, SessionId};
use rusqlite::params;
use serde_json::{Map, Value};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::HOOK_STATS_WINDOW;
use crate::view::{
    self, EventHookRow, HookEventRow, HookStats, InvocationRow, JobRow, RecordedDefinitions,
};

/// A filter for jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// The maximum of jobs, the newest; None means all.
    pub last: Option<usize>,
}

/// A filter for invocations: an invocation must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvocationFilter {
    /// Only invocations of this hook.
    pub hook: Option<EventHookId>,
    /// Only invocations matched from this time on, in milliseconds since 1970.
    pub since: Option<u64>,
    /// True to get only failed invocations.
    pub errors_only: bool,
    /// The maximum of invocations, the newest; None means all.
    pub last: Option<usize>,
}

impl Ledger {
    /// Returns a job; None if there is none with this id.
    pub fn job(&self, id: &JobId) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| JobRow::by_id(sql, id))
    }

    /// Returns the jobs that have not ended, oldest first, at most `limit`.
    pub fn jobs_open(&self, limit: usize) -> Result<Vec<JobRow>, Error> {
        let of = "ended_seq IS NULL ORDER BY queued_seq LIMIT ?1";
        self.ask(|sql| JobRow::all(sql, of, [whole(limit as u64)]))
    }

    /// Returns the jobs of a run, oldest first.
    pub fn jobs_of_run(&self, run: &RunId) -> Result<Vec<JobRow>, Error> {
        self.ask(|sql| JobRow::all(sql, "run = ?1 ORDER BY queued_seq", [run.as_str()]))
    }

    /// Returns the jobs whose lease has expired, the earliest expiry first.
    pub fn jobs_expired(&self, now: u64) -> Result<Vec<JobRow>, Error> {
        let of = "state IN ('leased', 'running') AND expires_at <= ?1 ORDER BY expires_at, id";
        self.ask(|sql| JobRow::all(sql, of, [whole(now)]))
    }

    /// Returns the job that holds the lock of a workspace, or None.
    pub fn job_holding(&self, workspace: &str) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| match view::workspace_holder(sql, workspace)? {
            Some(id) => JobRow::by_id(sql, &id),
            None => Ok(None),
        })
    }

    /// Returns the matching jobs, the newest first.
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

    /// Resolves an id or a part of an id to one job.
    pub fn find_job(&self, text: &str) -> Result<JobId, Error> {
        self.find("job", "jobs", JobId::PREFIX, text).map(JobId::new)
    }

    /// Returns the state that the agent's hooks keep about a session; empty if there is none.
    pub fn agent_state(&self, session: &SessionId) -> Result<Map<String, Value>, Error> {
        self.ask(|sql| view::agent_state(sql, session))
    }

    /// Returns the event hooks, by name, with deleted ones on request.
    pub fn event_hooks(&self, include_deleted: bool) -> Result<Vec<EventHookRow>, Error> {
        let of = if include_deleted { "1" } else { "deleted_at IS NULL" };
        self.ask(|sql| EventHookRow::all(sql, of))
    }

    /// Returns the enabled event hooks, by name; their breakers may have paused some of them.
    pub fn event_hooks_enabled(&self) -> Result<Vec<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::all(sql, "deleted_at IS NULL AND enabled = 1"))
    }

    /// Returns an event hook, even a deleted one; None if there is none with this id.
    pub fn event_hook(&self, id: &EventHookId) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "id = ?1", [id.as_str()]))
    }

    /// Returns the event hook with a name that is not deleted, or None.
    pub fn event_hook_named(&self, name: &str) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "name = ?1 AND deleted_at IS NULL", [name]))
    }

    /// Returns all versions of an event hook, the first one first.
    pub fn event_hook_versions(&self, id: &EventHookId) -> Result<Vec<EventHook>, Error> {
        self.ask(|sql| view::hook_versions(sql, id))
    }

    /// Resolves a name, an id or a part of an id to one event hook.
    pub fn find_event_hook(&self, text: &str) -> Result<EventHookId, Error> {
        match self.event_hook_named(text)? {
            Some(row) => Ok(row.hook.id),
            None => {
                self.find("hook", "event_hooks", EventHookId::PREFIX, text).map(EventHookId::new)
            }
        }
    }

    /// Returns the last entry that changed the set of active event hooks; zero if there is none.
    pub fn event_hooks_changed(&self) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM event_hooks_changed")?
                .query_row([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
        })
    }

    /// Returns the events with unfinished event hooks, oldest first, at most `limit`.
    pub fn hook_events_open(&self, limit: usize) -> Result<Vec<HookEventRow>, Error> {
        self.ask(|sql| HookEventRow::open(sql, whole(limit as u64)))
    }

    /// Returns the matching invocations, the newest first.
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

    /// Returns the invocations for an event, in the order of their match.
    pub fn invocations_of_event(&self, event: &EventId) -> Result<Vec<InvocationRow>, Error> {
        self.ask(|sql| InvocationRow::all(sql, "event = ?1 ORDER BY place", [event.as_str()]))
    }

    /// Returns the statistics of a hook's last `HOOK_STATS_WINDOW` invocations.
    pub fn hook_stats(&self, hook: &EventHookId) -> Result<HookStats, Error> {
        self.ask(|sql| view::hook_stats(sql, hook, whole(HOOK_STATS_WINDOW as u64)))
    }

    /// Returns the trusted programs of a directory, with the entry that trusted them.
    pub fn trusted(&self, path: &str) -> Result<Option<(TrustedPrograms, u64)>, Error> {
        self.ask(|sql| view::trusted(sql, path))
    }

    /// Returns the addresses that the project in a directory may set.
    pub fn trusted_addresses(&self, path: &str) -> Result<Option<TrustedAddresses>, Error> {
        self.ask(|sql| view::trusted_addresses(sql, path))
    }

    /// Returns the addresses that projects may set, by directory.
    pub fn all_trusted_addresses(&self) -> Result<Vec<TrustedAddresses>, Error> {
        self.ask(view::all_trusted_addresses)
    }

    /// Returns the definitions of a directory as recorded last.
    pub fn known_definitions(
        &self,
        path: &str,
        which: RecordedDefinitions,
    ) -> Result<Option<KnownDefinitions>, Error> {
        self.ask(|sql| view::known_definitions(sql, path, which))
    }

    /// Returns all trusted programs, by directory, each with the entry that trusted them.
    pub fn all_trusted(&self) -> Result<Vec<(TrustedPrograms, u64)>, Error> {
        self.ask(view::all_trusted)
    }
}
