-- What the owner decided about folders with skills: each row is a folder with a certain content. A copy of a trusted one is in
-- state/skills, in a folder with its hash.
CREATE TABLE skills (
  name TEXT NOT NULL,
  hash TEXT NOT NULL,   -- of the tree
  state TEXT NOT NULL CHECK (state IN ('asked', 'accepted', 'trusted')), -- asked, while its question is closed: the owner did not want it
  question INTEGER REFERENCES questions (id),
  at INTEGER NOT NULL,
  PRIMARY KEY (name, hash)
) STRICT;
CREATE UNIQUE INDEX skills_trusted ON skills (name) WHERE state = 'trusted';
CREATE INDEX skills_question ON skills (question) WHERE question > 0;
