-- What webhooks were sent whose senders sign no time: the same content under another id is the same delivery.
CREATE TABLE contents (
  hook INTEGER NOT NULL REFERENCES triggers (id),
  hash TEXT NOT NULL CHECK (hash <> ''), -- SHA-256 of the body, in hex
  ext_id TEXT NOT NULL, -- of the inbox row that has it
  received INTEGER NOT NULL,
  PRIMARY KEY (hook, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX contents_old ON contents (hook, received);

-- Webhooks of GitHub that were made before: 30 days, in nanoseconds.
UPDATE triggers SET body = json_set(body, '$.once', 2592000000000000) WHERE kind = 'hook' AND json_extract(body, '$.kind') = 'github';
