-- What tells a fact that the owner has removed from the memory: an item, or all of a turn. The items stay, but the index leaves them out, and so do summaries.
ALTER TABLE items ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1));
ALTER TABLE turns ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1));
