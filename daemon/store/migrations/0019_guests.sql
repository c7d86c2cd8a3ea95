-- What somebody else than the owner is told at the head of a conversation, apart from what the owner is told there. Those that were stored until now
-- may hold what is for the owner alone.
ALTER TABLE sessions ADD COLUMN guest_prompt TEXT REFERENCES prompts (hash);
UPDATE sessions SET prompt = NULL WHERE archived = 0;
