-- A part whose message shows a draft: the beginning of an answer that is still being made. It takes the row's text when that is known.
ALTER TABLE deliveries ADD COLUMN draft INTEGER NOT NULL DEFAULT 0 CHECK (draft IN (0, 1));
-- What a turn does at the moment is its newest event of these.
CREATE INDEX events_tools ON events (turn, seq) WHERE type IN ('tool.started', 'tool.finished');
