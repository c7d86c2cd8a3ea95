-- What holds a message back, and which message carries its text instead of it.
ALTER TABLE outbox ADD COLUMN waits TEXT NOT NULL DEFAULT '' CHECK (waits IN ('', 'quiet', 'hold'));
ALTER TABLE outbox ADD COLUMN joined INTEGER NOT NULL DEFAULT 0 CHECK (joined = 0 OR state = 'cancelled');
