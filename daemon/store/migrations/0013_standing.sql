-- By what right an address hears from hob, as it was when a message was queued for it. When that is lost meanwhile, the message does not go there.
ALTER TABLE outbox ADD COLUMN standing TEXT NOT NULL DEFAULT '' CHECK (standing IN ('', 'named', 'owner'));
-- The body of a part that shows a draft is the first part of the text already: the text is cut once.
ALTER TABLE deliveries ADD COLUMN final INTEGER NOT NULL DEFAULT 0 CHECK (final IN (0, 1));
