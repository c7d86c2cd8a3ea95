-- What fires by itself: gates, the late ledger, file watches, webhooks.
ALTER TABLE triggers ADD COLUMN seen TEXT NOT NULL DEFAULT ''; -- what its gate saw when it last ran well
ALTER TABLE triggers ADD COLUMN secret TEXT NOT NULL DEFAULT ''; -- of a webhook
ALTER TABLE triggers ADD COLUMN trouble TEXT NOT NULL DEFAULT ''; -- of a watch: what it cannot see, or sees late

ALTER TABLE fires ADD COLUMN limit_us INTEGER NOT NULL DEFAULT 0; -- a run that begins later than this is late; 0: none is
ALTER TABLE fires ADD COLUMN seen TEXT NOT NULL DEFAULT ''; -- what its gate saw; the trigger's own once it ran well
ALTER TABLE fires ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1, 2)); -- 1: the owner is to be told of it, 2: he was
ALTER TABLE fires ADD COLUMN note TEXT NOT NULL DEFAULT ''; -- what its run is told beside the prompt, while its gate has not been looked at
ALTER TABLE fires ADD COLUMN stands INTEGER NOT NULL DEFAULT 1 CHECK (stands > 0); -- how many slots the row is of
CREATE INDEX fires_due ON fires (due, id) WHERE state = 'due';
CREATE INDEX inbox_fire ON inbox (fire) WHERE fire IS NOT NULL;
CREATE INDEX turns_fire ON turns (fire) WHERE fire IS NOT NULL;
CREATE INDEX fires_of ON fires (trigger, id);
CREATE INDEX fires_told ON fires (id) WHERE told = 1;

-- The name is the heartbeat's own from now on.
UPDATE triggers SET name = 'job-' || name || '-' || id WHERE kind = 'job' AND name = 'heartbeat' AND removed = 0;

-- What a watch last saw of each path.
CREATE TABLE snapshots (
  watch INTEGER NOT NULL REFERENCES triggers (id),
  path TEXT NOT NULL CHECK (path <> ''),
  dir INTEGER NOT NULL CHECK (dir IN (0, 1)),
  ino INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL, -- nanoseconds
  hash TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL CHECK (version > 0), -- grows with each new content
  text BLOB, -- of a small text file, for the diff
  gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)), -- it was removed; the version stays
  PRIMARY KEY (watch, path)
) STRICT, WITHOUT ROWID;

-- A record is asked for by the name of what made it, also when that is gone.
CREATE INDEX triggers_called ON triggers (name);

-- What the thread asks at each claim, however many inputs wait.
CREATE INDEX inbox_commands ON inbox (seq) WHERE state = 'queued' AND kind = 'command';
CREATE INDEX inbox_expiring ON inbox (not_after) WHERE state = 'queued' AND not_after > 0;
