-- Who may write: the attempts to bind an owner on a channel, and the owners that came of them.
CREATE TABLE pairings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel TEXT NOT NULL CHECK (channel <> ''),
  hash TEXT NOT NULL CHECK (hash <> ''), -- of the code
  tries INTEGER NOT NULL CHECK (tries >= 0),
  until INTEGER NOT NULL,
  created INTEGER NOT NULL,
  person TEXT NOT NULL DEFAULT '', -- bound: the platform's immutable id
  name TEXT NOT NULL DEFAULT '',
  ext_id TEXT NOT NULL DEFAULT '', -- the message that had the code
  bound INTEGER NOT NULL DEFAULT 0,
  revoked INTEGER NOT NULL DEFAULT 0,
  CHECK ((person <> '') = (bound > 0))
) STRICT;
CREATE UNIQUE INDEX pairings_person ON pairings (channel, person) WHERE person <> '' AND revoked = 0;
