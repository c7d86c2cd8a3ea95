-- What the owner decided about the tools of MCP servers: each row is a list of tools, with how the server is reached.
CREATE TABLE mcp_lists (
  server TEXT NOT NULL,
  hash TEXT NOT NULL,   -- of list
  list TEXT NOT NULL CHECK (json_valid(list)),
  state TEXT NOT NULL CHECK (state IN ('asked', 'accepted')), -- asked, while its question is closed: the owner did not want it
  question INTEGER REFERENCES questions (id),
  at INTEGER NOT NULL,
  PRIMARY KEY (server, hash)
) STRICT;
CREATE UNIQUE INDEX mcp_lists_accepted ON mcp_lists (server) WHERE state = 'accepted';
CREATE INDEX mcp_lists_question ON mcp_lists (question) WHERE question > 0;
