-- What people write in chats: who did, and what became of it on the way in.
ALTER TABLE inbox ADD COLUMN person TEXT NOT NULL DEFAULT ''; -- the platform's id of who wrote it
ALTER TABLE inbox ADD COLUMN sent INTEGER NOT NULL DEFAULT 0; -- by the platform's clock
ALTER TABLE inbox ADD COLUMN burst INTEGER NOT NULL DEFAULT 0 CHECK (burst IN (0, 1)); -- until not_before it waits for what the same person writes next
CREATE INDEX inbox_person ON inbox (source, person) WHERE person <> '';
CREATE INDEX inbox_burst ON inbox (session, person, not_before) WHERE state = 'queued' AND burst = 1;
CREATE INDEX inbox_held ON inbox (source) WHERE state = 'held';
CREATE INDEX outbox_address ON outbox (address, id);

-- Edits that changed something. An edit of what had been read is also an input of its own.
CREATE TABLE edits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  ext_id TEXT NOT NULL,
  message INTEGER NOT NULL REFERENCES inbox (seq), -- that was edited
  inbox INTEGER NOT NULL REFERENCES inbox (seq), -- the row that has the new text
  number INTEGER NOT NULL DEFAULT 0, -- under which its files lie, when it is no row's
  text TEXT NOT NULL,
  UNIQUE (source, ext_id)
) STRICT;
CREATE INDEX edits_message ON edits (message);
CREATE INDEX edits_number ON edits (number) WHERE number > 0;

-- To whom hob says no more, because a program seems to answer it.
CREATE TABLE silences (
  address TEXT NOT NULL,
  person TEXT NOT NULL,
  until INTEGER NOT NULL, -- what was said before is over then
  PRIMARY KEY (address, person)
) STRICT, WITHOUT ROWID;

-- After a restore, what each channel brings from before it is held, and the owner is asked once.
CREATE TABLE catchups (
  source TEXT PRIMARY KEY,
  restored INTEGER NOT NULL, -- when that was
  due INTEGER NOT NULL, -- when he is asked, if no more comes
  question INTEGER REFERENCES questions (id),
  answer TEXT NOT NULL DEFAULT '' CHECK (answer IN ('', 'take', 'drop'))
) STRICT, WITHOUT ROWID;
CREATE INDEX catchups_due ON catchups (due) WHERE question IS NULL;
