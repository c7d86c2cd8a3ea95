-- The way in which a sub-agent works; '' for none.
ALTER TABLE children ADD COLUMN preset TEXT NOT NULL DEFAULT '' CHECK (preset IN ('', 'explore', 'summarise', 'review'));
