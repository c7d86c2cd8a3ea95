-- A plain task is carried out by the built-in interpreter, also when a model is connected.
ALTER TABLE tasks ADD COLUMN plain INTEGER NOT NULL DEFAULT 0 CHECK (plain IN (0, 1));
