-- Each index costs a page of the log with each commit that touches it. turns_state serves what turns_open did, and of the events of an input only
-- two are ever looked for.
DROP INDEX turns_open;
DROP INDEX events_inbox;
CREATE INDEX events_inbox ON events (inbox) WHERE type IN ('event.accepted', 'queue.ahead');
