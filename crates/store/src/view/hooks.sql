CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    workspace TEXT NOT NULL,
    locks INTEGER NOT NULL,
    state TEXT NOT NULL,
    executor TEXT,
    fence INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER,
    session TEXT,
    run TEXT,
    turn TEXT,
    queued_seq INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    started_seq INTEGER,
    ended_seq INTEGER,
    report TEXT
) WITHOUT ROWID;
CREATE INDEX jobs_by_age ON jobs (queued_seq);
CREATE INDEX jobs_by_state ON jobs (state, queued_seq);
CREATE INDEX jobs_open ON jobs (queued_seq) WHERE ended_seq IS NULL;
CREATE INDEX jobs_by_run ON jobs (run, queued_seq) WHERE run IS NOT NULL;
CREATE INDEX jobs_due ON jobs (expires_at) WHERE state IN ('leased', 'running');
CREATE INDEX jobs_holding ON jobs (workspace) WHERE locks = 1 AND state IN ('leased', 'running');

CREATE TABLE agent_states (
    session TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE event_hooks (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    hook TEXT NOT NULL,
    seq INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    enabled_at INTEGER NOT NULL,
    disabled_at INTEGER,
    disabled_reason TEXT,
    deleted_at INTEGER,
    last_triggered INTEGER,
    trigger_count INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    circuit TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX event_hooks_by_name ON event_hooks (name) WHERE deleted_at IS NULL;
CREATE INDEX event_hooks_enabled ON event_hooks (name) WHERE deleted_at IS NULL AND enabled = 1;

CREATE TABLE event_hook_versions (
    hook TEXT NOT NULL,
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (hook, version)
) WITHOUT ROWID;

-- The last entry that changed the set of active event hooks; one row.
CREATE TABLE event_hooks_changed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
);

CREATE TABLE hook_events (
    event TEXT PRIMARY KEY,
    access TEXT NOT NULL,
    seq INTEGER NOT NULL,
    settled_seq INTEGER
) WITHOUT ROWID;
CREATE INDEX hook_events_open ON hook_events (seq) WHERE settled_seq IS NULL;

CREATE TABLE invocations (
    id TEXT PRIMARY KEY,
    hook TEXT NOT NULL,
    version INTEGER NOT NULL,
    event TEXT NOT NULL,
    access TEXT NOT NULL,
    place INTEGER NOT NULL,
    status TEXT NOT NULL,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    done_seq INTEGER,
    fired INTEGER,
    latency INTEGER,
    error TEXT,
    body TEXT
) WITHOUT ROWID;
CREATE INDEX invocations_of_event ON invocations (event, place);
CREATE INDEX invocations_pending ON invocations (event) WHERE done_seq IS NULL;
CREATE INDEX invocations_of_hook ON invocations (hook, seq);
CREATE INDEX invocations_done ON invocations (hook, done_seq) WHERE done_seq IS NOT NULL;
CREATE INDEX invocations_failed ON invocations (hook, seq) WHERE error IS NOT NULL;

CREATE TABLE trust (
    path TEXT PRIMARY KEY,
    trusted TEXT NOT NULL,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE trusted_addresses (
    path TEXT PRIMARY KEY,
    trusted TEXT NOT NULL,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE known_definitions (
    path TEXT NOT NULL,
    is_confirmed INTEGER NOT NULL,
    known TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (path, is_confirmed)
) WITHOUT ROWID;
