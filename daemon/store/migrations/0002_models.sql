-- A model step says which model was asked and, when nothing usable came, why.
ALTER TABLE steps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN why TEXT NOT NULL DEFAULT '';
