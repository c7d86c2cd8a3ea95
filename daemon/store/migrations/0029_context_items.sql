-- Texts that hob keeps by drive and path. A new content is a new row, so that the index of the memory sees by the ids what has changed.
CREATE TABLE context_items (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  drive TEXT NOT NULL CHECK (drive IN ('agent', 'url', 'disk')),
  path TEXT NOT NULL CHECK (path <> ''),
  foreign_from TEXT NOT NULL DEFAULT '', -- why the content is somebody else's text; '': it is the owner's own
  foreign_name INTEGER NOT NULL DEFAULT 0 CHECK (foreign_name IN (0, 1)), -- 1: only turns that had read foreign text have named it
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  content TEXT NOT NULL,
  UNIQUE (drive, path)
) STRICT;
-- What is asked before each search: whether something has changed. It never reads a content.
CREATE INDEX context_items_state ON context_items (updated, bytes);
