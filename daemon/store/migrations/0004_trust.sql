-- What was read, and what it makes of what comes after. A session whose watermark is below owner has foreign text in it.
ALTER TABLE sessions ADD COLUMN foreign_from TEXT NOT NULL DEFAULT ''; -- what lowered the watermark
ALTER TABLE turns ADD COLUMN foreign_from TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1));
ALTER TABLE questions ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1)); -- its turn was when it asked
ALTER TABLE grants ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1));

-- Files that a tainted turn, or a command that reached the network, wrote. A folder stands for all below it.
CREATE TABLE marks (
  path TEXT PRIMARY KEY CHECK (path <> ''),
  why TEXT NOT NULL CHECK (why <> ''),
  turn INTEGER REFERENCES turns (id),
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per call says also what it did.
ALTER TABLE audit ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1));
ALTER TABLE audit ADD COLUMN cwd TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN exit_code INTEGER;
ALTER TABLE audit ADD COLUMN bytes_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN bytes_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN result_hash TEXT NOT NULL DEFAULT '';
