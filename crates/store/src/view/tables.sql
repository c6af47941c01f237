CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    head TEXT,
    turns INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_key ON sessions (key, agent);
CREATE INDEX sessions_by_update ON sessions (updated);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session TEXT,
    run TEXT,
    parent TEXT,
    depth INTEGER NOT NULL,
    hash TEXT,
    status TEXT NOT NULL,
    started_seq INTEGER NOT NULL,
    ended_seq INTEGER,
    step INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX turns_under_way ON turns (session) WHERE ended_seq IS NULL;
CREATE INDEX turns_by_run ON turns (run, started_seq);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    session TEXT,
    agent TEXT NOT NULL,
    task TEXT,
    model TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    ending TEXT,
    created INTEGER NOT NULL,
    ended INTEGER,
    prompt TEXT NOT NULL,
    workspace TEXT NOT NULL,
    created_seq INTEGER NOT NULL,
    started INTEGER NOT NULL,
    let_go INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_age ON runs (created_seq);
CREATE INDEX runs_by_session ON runs (session, created_seq);

CREATE TABLE steps (
    run TEXT NOT NULL,
    idx INTEGER NOT NULL,
    id TEXT NOT NULL,
    uses TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    turn TEXT,
    PRIMARY KEY (run, idx)
) WITHOUT ROWID;

CREATE TABLE calls (
    id TEXT PRIMARY KEY,
    run TEXT,
    turn TEXT,
    session TEXT,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    permit TEXT,
    under TEXT,
    proposed_seq INTEGER NOT NULL,
    started_seq INTEGER,
    finished_seq INTEGER
) WITHOUT ROWID;
CREATE INDEX calls_by_turn ON calls (turn, proposed_seq);
CREATE INDEX calls_by_run ON calls (run, proposed_seq);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    run TEXT,
    turn TEXT,
    session TEXT,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    requester TEXT,
    asked INTEGER NOT NULL,
    expires INTEGER,
    answered INTEGER,
    asked_seq INTEGER NOT NULL,
    answered_seq INTEGER,
    reach TEXT
) WITHOUT ROWID;
CREATE INDEX approvals_by_age ON approvals (asked_seq);
CREATE INDEX approvals_waiting ON approvals (asked_seq) WHERE status = 'waiting';
CREATE INDEX approvals_waiting_of_run ON approvals (run) WHERE status = 'waiting';
CREATE INDEX approvals_standing_in ON approvals (session, asked_seq) WHERE status = 'yes' AND reach = 'session';
CREATE INDEX approvals_of_requester ON approvals (requester, status, asked) WHERE requester IS NOT NULL;
CREATE INDEX approvals_denied ON approvals (requester, answered) WHERE requester IS NOT NULL AND status = 'no';
CREATE INDEX approvals_requests ON approvals (asked_seq) WHERE kind = 'permission';
CREATE INDEX approvals_due ON approvals (expires) WHERE status = 'waiting' AND expires IS NOT NULL;
CREATE INDEX approvals_waiting_of_turn ON approvals (turn) WHERE status = 'waiting';

CREATE TABLE spending (
    seq INTEGER PRIMARY KEY,
    session TEXT,
    run TEXT,
    turn TEXT,
    agent TEXT,
    day INTEGER NOT NULL,
    nano INTEGER,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    estimated INTEGER NOT NULL
);
CREATE INDEX spending_by_turn ON spending (turn);
CREATE INDEX spending_by_run ON spending (run);
CREATE INDEX spending_by_session ON spending (session);
CREATE INDEX spending_by_agent ON spending (agent);
CREATE INDEX spending_by_day ON spending (day);
