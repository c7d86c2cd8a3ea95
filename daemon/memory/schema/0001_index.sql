-- The index of the memory. It is derived: a change of this file makes it anew, so there is never a second one.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- The memory files. state: indexed, cut (only the first 4 MB are indexed), binary, unreadable.
CREATE TABLE files (
	id      INTEGER PRIMARY KEY,
	path    TEXT NOT NULL UNIQUE, -- in the workspace, with slashes
	place   TEXT NOT NULL,        -- the real path, after symbolic links
	size    INTEGER NOT NULL,
	changed INTEGER NOT NULL,     -- nanoseconds since 1970; 0: it changed while it was read
	hash    TEXT NOT NULL,        -- SHA-256 of what was read
	state   TEXT NOT NULL CHECK (state IN ('indexed', 'cut', 'binary', 'unreadable')),
	problem TEXT NOT NULL,
	chunks  INTEGER NOT NULL
);

-- What a search finds: windows of memory files, items of transcripts (history), context items.
CREATE TABLE chunks (
	id      INTEGER PRIMARY KEY,
	kind    TEXT NOT NULL CHECK (kind IN ('memory', 'history', 'context')),
	file    INTEGER REFERENCES files ON DELETE CASCADE, -- of memory
	path    TEXT NOT NULL DEFAULT '',     -- memory: the file; context: DRIVE:PATH; history: the session's key
	session INTEGER NOT NULL DEFAULT 0,   -- history: the session's id
	seq     INTEGER NOT NULL DEFAULT 0,   -- history: the item; context: the revision
	first   INTEGER NOT NULL DEFAULT 0,   -- first line, from 1
	last    INTEGER NOT NULL DEFAULT 0,
	start   INTEGER NOT NULL DEFAULT 0,   -- bytes in the indexed text
	stop    INTEGER NOT NULL DEFAULT 0,
	own     INTEGER NOT NULL DEFAULT 1 CHECK (own IN (0, 1)), -- 0: foreign text. Of memory files the path guard decides at each search
	said    INTEGER NOT NULL DEFAULT 0 CHECK (said IN (0, 1)), -- 1: of history: the owner's own words in a turn that had read nothing foreign, and no question
	sender  TEXT NOT NULL DEFAULT '',     -- a name; context: why it is foreign text
	person  TEXT NOT NULL DEFAULT '',     -- history: who the sender is, by an id that he cannot change
	at      INTEGER NOT NULL DEFAULT 0,   -- microseconds since 1970
	above   TEXT NOT NULL DEFAULT '',     -- the headings above it
	text    TEXT NOT NULL,
	hash    TEXT NOT NULL DEFAULT ''      -- of its source
);
CREATE INDEX chunks_of_file ON chunks (file, start) WHERE file IS NOT NULL;
CREATE UNIQUE INDEX chunks_of_session ON chunks (session, seq) WHERE kind = 'history';
CREATE INDEX chunks_of_item ON chunks (seq, at, path) WHERE kind = 'context';

-- How many chunks there are: counting them would read the whole table. It is no trigger, because FTS5 writes its words to the disk for each
-- statement with one.
CREATE TABLE tally (kind TEXT, own INTEGER, n INTEGER, PRIMARY KEY (kind, own)) WITHOUT ROWID;
INSERT INTO tally VALUES ('memory', 0, 0), ('memory', 1, 0), ('history', 0, 0), ('history', 1, 0), ('context', 0, 0), ('context', 1, 0);

-- The words of the chunks, scripts without spaces in pairs of letters; and all runs of three letters, for parts of words, names and ids.
CREATE VIRTUAL TABLE words USING fts5(text, above, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE grams USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);

-- The words of history that others wrote. They are apart from the tables above: a flood of them changes nothing there.
CREATE VIRTUAL TABLE strangers USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE strange_words USING fts5vocab(strangers, row);

-- Turns that had not ended when the cursor of the history (meta, history) passed their items.
CREATE TABLE pending (turn INTEGER PRIMARY KEY);

-- The vectors of the chunks, 32-bit numbers of length 1 in all. Their space and dimensions are in meta.
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
