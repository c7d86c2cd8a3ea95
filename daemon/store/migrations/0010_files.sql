-- The files that go with a message, and the one that a part of it is. Their bytes lie on the shelf.
ALTER TABLE outbox ADD COLUMN files TEXT CHECK (json_valid(files)); -- a list; NULL: none
ALTER TABLE deliveries ADD COLUMN file TEXT CHECK (json_valid(file)); -- NULL: the part is a text
CREATE INDEX outbox_files ON outbox (id) WHERE files IS NOT NULL;
CREATE INDEX artifacts_enclosed ON artifacts (id) WHERE source = 'outbox';
