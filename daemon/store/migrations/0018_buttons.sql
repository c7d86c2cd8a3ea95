-- The buttons of a question are taken away when it is closed: by an answer on any surface, or by its end. The row is made by the commit that closes it.
CREATE TABLE closings (
  outbox INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
  tries INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  next_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TRIGGER question_closed AFTER UPDATE OF state ON questions WHEN old.state = 'open' AND new.state <> 'open'
BEGIN
  INSERT INTO closings (outbox) SELECT id FROM outbox WHERE cause_kind = 'question' AND cause_id = new.id AND address NOT LIKE 'cli:%' AND true ON CONFLICT DO NOTHING;
END;
