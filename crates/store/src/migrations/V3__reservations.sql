CREATE TABLE reservations (
    id TEXT PRIMARY KEY,
    session TEXT,
    run TEXT,
    nano INTEGER NOT NULL,
    made INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX reservations_by_session ON reservations (session);
