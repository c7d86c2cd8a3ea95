-- The sections of a stored system text, in order: [{"name", "bytes"}].
ALTER TABLE prompts ADD COLUMN parts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(parts));
-- What the session was shown last of its system text: the prefix itself, or a later state that arrived as a note.
ALTER TABLE sessions ADD COLUMN shown TEXT REFERENCES prompts (hash);
ALTER TABLE sessions ADD COLUMN guest_shown TEXT REFERENCES prompts (hash);
-- Every session takes a new prefix with its next request, so that all stored ones have their sections.
UPDATE sessions SET prompt = NULL, guest_prompt = NULL;
