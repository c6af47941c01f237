CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    cause INTEGER,
    version INTEGER NOT NULL,
    stream TEXT NOT NULL,
    session TEXT,
    run TEXT,
    turn TEXT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
);

CREATE INDEX ledger_by_session ON ledger (session, seq) WHERE session IS NOT NULL;
CREATE INDEX ledger_by_run ON ledger (run, seq) WHERE run IS NOT NULL;

CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'an entry of the ledger is never changed');
END;

CREATE TRIGGER ledger_is_never_cut BEFORE DELETE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'an entry of the ledger is never deleted');
END;
