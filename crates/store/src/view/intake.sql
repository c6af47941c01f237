CREATE TABLE inbounds (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    status TEXT NOT NULL,
    access TEXT,
    decided_seq INTEGER,
    session TEXT,
    authority TEXT,
    routed_seq INTEGER,
    here INTEGER NOT NULL DEFAULT 0,
    steer_seq INTEGER,
    run TEXT,
    turn TEXT,
    replied INTEGER NOT NULL DEFAULT 0,
    why TEXT,
    settled_seq INTEGER,
    delivery TEXT,
    chunks_sent INTEGER NOT NULL DEFAULT 0,
    delivered_seq INTEGER
) WITHOUT ROWID;
CREATE INDEX inbounds_by_age ON inbounds (seq);
CREATE INDEX inbounds_received ON inbounds (seq) WHERE status = 'received';
CREATE INDEX inbounds_waiting ON inbounds (session, routed_seq) WHERE status IN ('waiting', 'steering');
CREATE INDEX inbounds_steered ON inbounds (steer_seq) WHERE steer_seq IS NOT NULL;
CREATE INDEX inbounds_under_way ON inbounds (run, seq) WHERE status IN ('running', 'paused', 'taken');
CREATE INDEX inbounds_answering ON inbounds (session, seq) WHERE status IN ('running', 'paused', 'taken') AND here = 0;
CREATE INDEX inbounds_by_session ON inbounds (session) WHERE session IS NOT NULL;
CREATE INDEX inbounds_by_run ON inbounds (run) WHERE run IS NOT NULL;
CREATE INDEX inbounds_undelivered ON inbounds (settled_seq) WHERE delivery = 'pending';
CREATE INDEX inbounds_summarized ON inbounds (session, settled_seq) WHERE why = 'summarized';

CREATE TABLE queues (
    session TEXT PRIMARY KEY,
    wish TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    event TEXT,
    channel TEXT NOT NULL,
    account TEXT,
    kind TEXT NOT NULL,
    principal TEXT,
    name TEXT,
    relationship TEXT,
    effect TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (time);
CREATE INDEX audit_by_event ON audit (event) WHERE event IS NOT NULL;
CREATE INDEX audit_by_effect ON audit (effect, time);
CREATE INDEX audit_by_channel ON audit (channel, time);
CREATE INDEX audit_by_kind ON audit (kind, time);
CREATE INDEX audit_by_principal ON audit (principal, time) WHERE principal IS NOT NULL;

CREATE TABLE audit_policies (
    policy TEXT NOT NULL,
    seq INTEGER NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (policy, seq)
) WITHOUT ROWID;
CREATE INDEX audit_policies_by_seq ON audit_policies (seq);

CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    expired_seq INTEGER
) WITHOUT ROWID;
CREATE INDEX grants_open ON grants (seq) WHERE revoked IS NULL AND expired_seq IS NULL;

CREATE TABLE grant_log (
    seq INTEGER NOT NULL,
    grant_id TEXT NOT NULL,
    time INTEGER NOT NULL,
    activity TEXT NOT NULL,
    actor TEXT,
    reason TEXT,
    access TEXT,
    PRIMARY KEY (seq, grant_id)
) WITHOUT ROWID;
CREATE INDEX grant_log_by_grant ON grant_log (grant_id, seq);
CREATE INDEX grant_log_by_time ON grant_log (time);

CREATE TABLE entities (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE identities (
    channel TEXT NOT NULL,
    identifier TEXT NOT NULL,
    entity TEXT NOT NULL,
    PRIMARY KEY (channel, identifier)
) WITHOUT ROWID;
CREATE INDEX identities_by_entity ON identities (entity);

-- The last entry that changed entities or grants; one row.
CREATE TABLE access_changed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
);

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    revoked INTEGER
) WITHOUT ROWID;
