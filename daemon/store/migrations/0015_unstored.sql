-- A slot that came due while its fire could not be committed.
ALTER TABLE fires ADD COLUMN unstored INTEGER NOT NULL DEFAULT 0 CHECK (unstored IN (0, 1));
