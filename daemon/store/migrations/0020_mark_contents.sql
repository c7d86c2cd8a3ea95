-- What a marked file was when it was marked: the mark goes with it when it is renamed, linked or copied.
ALTER TABLE marks ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE marks ADD COLUMN inode TEXT NOT NULL DEFAULT '';  -- with its device and its time of birth; '': not known
ALTER TABLE marks ADD COLUMN sha256 TEXT NOT NULL DEFAULT ''; -- of its content; '': a folder, an empty file, or not known
ALTER TABLE marks ADD COLUMN folder INTEGER NOT NULL DEFAULT 0 CHECK (folder IN (0, 1));
