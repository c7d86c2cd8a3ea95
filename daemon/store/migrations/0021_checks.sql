-- json_valid(NULL) is 0 in an older SQLite, 3.40 among them, which so reported sound rows without files as broken. Only the text of the checks changes,
-- in the way of "Making Other Kinds Of Table Schema Changes" (sqlite.org/lang_altertable.html): all rows stay as they are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
  'CHECK (json_valid(files))', 'CHECK (files IS NULL OR json_valid(files))'),
  'CHECK (json_valid(file))', 'CHECK (file IS NULL OR json_valid(file))'),
  'CHECK (json_valid(choices))', 'CHECK (choices IS NULL OR json_valid(choices))')
  WHERE type = 'table' AND name IN ('outbox', 'deliveries');
PRAGMA writable_schema = RESET;
