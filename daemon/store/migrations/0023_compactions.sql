-- A compaction shortens what the requests of a session contain. It deletes no item: results get a handle, and items before the cut are left
-- out in favour of the summaries. The newest compaction of a session is in force.
CREATE TABLE compactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (id),
  turn INTEGER NOT NULL REFERENCES turns (id), -- that made it
  at INTEGER NOT NULL,
  how TEXT NOT NULL CHECK (how IN ('trim', 'model', 'rows')),
  cut INTEGER NOT NULL,     -- requests leave out the items before this seq; 0: none
  summaries INTEGER NOT NULL, -- the compaction whose summaries stand for them; 0: none
  last INTEGER NOT NULL,    -- the session's newest item then: token counts up to it no longer hold
  covered INTEGER NOT NULL, -- items before the cut
  handles INTEGER NOT NULL, -- results that became handles
  bytes INTEGER NOT NULL,   -- of the items in the last request before
  tokens INTEGER NOT NULL   -- that the provider counted for them; 0: not known
) STRICT;
CREATE INDEX compactions_session ON compactions (session, id);
CREATE INDEX compactions_turn ON compactions (turn);
ALTER TABLE sessions ADD COLUMN compact INTEGER NOT NULL DEFAULT 0 CHECK (compact IN (0, 1)); -- the owner asked for a compaction
ALTER TABLE sessions ADD COLUMN compact_note TEXT NOT NULL DEFAULT ''; -- what matters, in the owner's words
ALTER TABLE items ADD COLUMN handle TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN compaction INTEGER NOT NULL DEFAULT 0; -- of a summary

-- The conversation in which a job, watch or task was made, 0 for none. A summary names those that still exist.
ALTER TABLE triggers ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
CREATE INDEX triggers_session ON triggers (session) WHERE session > 0 AND removed = 0;
CREATE INDEX tasks_session ON tasks (session) WHERE session > 0 AND ended = 0;
