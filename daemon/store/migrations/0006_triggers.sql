-- What fires by itself: gates, the late ledger, file watches, webhooks.
ALTER TABLE triggers ADD COLUMN seen TEXT NOT NULL DEFAULT ''; -- what its gate saw when it last ran well
ALTER TABLE triggers ADD COLUMN secret TEXT NOT NULL DEFAULT ''; -- of a webhook

ALTER TABLE fires ADD COLUMN limit_us INTEGER NOT NULL DEFAULT 0; -- a run that begins later than this is late; 0: none is
ALTER TABLE fires ADD COLUMN seen TEXT NOT NULL DEFAULT ''; -- what its gate saw; the trigger's own once it ran well
ALTER TABLE fires ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1, 2)); -- 1: the owner is to be told of it, 2: he was
CREATE INDEX fires_due ON fires (due, id) WHERE state = 'due';
CREATE INDEX fires_told ON fires (id) WHERE told = 1;

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
