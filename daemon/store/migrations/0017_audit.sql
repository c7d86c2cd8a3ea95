-- A call that did not come before the gate was not denied by it: its tool, its arguments or what it names are not there. And what a person would
-- have been warned of stands in the row, whoever allowed the call.
ALTER TABLE audit ADD COLUMN judged INTEGER NOT NULL DEFAULT 1 CHECK (judged IN (0, 1));
ALTER TABLE audit ADD COLUMN warnings TEXT NOT NULL DEFAULT '';
