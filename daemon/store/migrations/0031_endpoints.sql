-- Programs that talk to hob with a token of their own. The token is stored as its SHA-256.
CREATE TABLE endpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  token TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0,
  foreign_from TEXT NOT NULL DEFAULT '' -- the first foreign text that a call of its tools brought to it
) STRICT;
-- What they asked: each request to /v1/chat/completions that became an inbox row with the same ext_id.
CREATE TABLE endpoint_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  endpoint INTEGER NOT NULL REFERENCES endpoints (id),
  session TEXT NOT NULL,
  person TEXT NOT NULL, -- the field user; '': the client named none
  digest TEXT NOT NULL, -- of person and all messages
  ext_id TEXT NOT NULL UNIQUE,
  seen TEXT NOT NULL CHECK (json_valid(seen)), -- digests of its messages
  notice TEXT NOT NULL DEFAULT '', -- what the client got in place of an answer
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX endpoint_requests_digest ON endpoint_requests (endpoint, digest);
CREATE INDEX endpoint_requests_session ON endpoint_requests (session);
