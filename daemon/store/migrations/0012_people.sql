-- With which account of hob's own an owner was paired, by the platform's immutable id: a pairing counts for that account only.
-- Empty: not known; the first account that is seen takes the pairing over.
ALTER TABLE pairings ADD COLUMN account TEXT NOT NULL DEFAULT '';
-- What the reader of a message can choose below it, as buttons: a list of labels with what pressing them says.
ALTER TABLE outbox ADD COLUMN choices TEXT CHECK (json_valid(choices)); -- NULL: nothing
