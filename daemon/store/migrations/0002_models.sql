-- A model step says which model was asked and, when nothing usable came, why: in words, and by the kind of fault.
ALTER TABLE steps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN why TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN fault TEXT NOT NULL DEFAULT '';

-- Rows are counted by their state.
CREATE INDEX inbox_state ON inbox (state);
CREATE INDEX outbox_state ON outbox (state);
CREATE INDEX turns_state ON turns (state);
