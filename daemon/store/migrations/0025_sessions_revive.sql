-- A session that the owner archived goes on with the next message that its key gets. One that ended with /new does not.
ALTER TABLE sessions ADD COLUMN revive INTEGER NOT NULL DEFAULT 0 CHECK (revive = 0 OR revive = 1 AND archived > 0);
CREATE UNIQUE INDEX sessions_revive ON sessions (key) WHERE revive = 1;
