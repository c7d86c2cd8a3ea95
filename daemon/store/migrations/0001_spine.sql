-- All state of hob. Times are microseconds since 1970 in UTC, 0 for none. States are CHECK constraints:
-- what cannot be is not storable.

CREATE TABLE instance (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE boots (
  epoch INTEGER PRIMARY KEY AUTOINCREMENT,
  started INTEGER NOT NULL,
  clean INTEGER NOT NULL DEFAULT 0 CHECK (clean IN (0, 1)),
  crashed INTEGER NOT NULL CHECK (crashed IN (0, 1)), -- the boot before this one did not end cleanly
  inflight INTEGER NOT NULL DEFAULT 0,                -- the turn that was running then
  version TEXT NOT NULL
) STRICT;

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
  source TEXT PRIMARY KEY,
  identity TEXT NOT NULL,
  value TEXT NOT NULL,
  updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  tools TEXT NOT NULL CHECK (json_valid(tools)),
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL CHECK (kind IN ('main', 'chat', 'job', 'group', 'thread', 'hook', 'watch', 'child')),
  watermark TEXT NOT NULL CHECK (watermark IN ('owner', 'known', 'public', 'machine')),
  prompt TEXT REFERENCES prompts (hash),
  created INTEGER NOT NULL,
  archived INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX sessions_live ON sessions (key) WHERE archived = 0;

CREATE TABLE turns (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (id),
  parent INTEGER REFERENCES turns (id),
  state TEXT NOT NULL CHECK (state IN ('ready', 'running', 'waiting', 'done', 'failed', 'stopped', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL REFERENCES boots (epoch),
  asker TEXT NOT NULL CHECK (asker IN ('owner', 'known', 'public', 'machine')),
  tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1)),
  reply_to TEXT NOT NULL,
  reply_ref TEXT NOT NULL DEFAULT '',
  fire INTEGER REFERENCES fires (id),
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0,
  running_us INTEGER NOT NULL DEFAULT 0,
  why TEXT NOT NULL DEFAULT '',
  parked_on TEXT NOT NULL DEFAULT '', -- the call whose wait it waits for
  text TEXT NOT NULL DEFAULT '',
  tokens INTEGER NOT NULL DEFAULT 0,
  cost INTEGER NOT NULL DEFAULT 0,
  CHECK ((ended > 0) = (state IN ('done', 'failed', 'stopped', 'dead')))
) STRICT;
CREATE INDEX turns_open ON turns (state) WHERE state IN ('ready', 'running', 'waiting');
CREATE UNIQUE INDEX turns_one_main ON turns (state) WHERE state = 'running' AND parent IS NULL;

CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  ext_id TEXT NOT NULL,
  session TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('message', 'command', 'answer', 'fire', 'report')),
  rank INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 3),
  trust TEXT NOT NULL CHECK (trust IN ('owner', 'known', 'public', 'machine')),
  sender TEXT NOT NULL DEFAULT '',
  reply_to TEXT NOT NULL DEFAULT '',
  reply_ref TEXT NOT NULL DEFAULT '',
  typed INTEGER NOT NULL DEFAULT 0 CHECK (typed IN (0, 1)),
  parts TEXT NOT NULL CHECK (json_valid(parts)),
  fire INTEGER REFERENCES fires (id),
  received INTEGER NOT NULL,
  not_before INTEGER NOT NULL DEFAULT 0,
  not_after INTEGER NOT NULL DEFAULT 0,
  turn INTEGER REFERENCES turns (id),
  state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'held', 'joined', 'done', 'dropped', 'expired', 'dead')),
  reason TEXT NOT NULL DEFAULT '',
  UNIQUE (source, ext_id),
  CHECK (state <> 'joined' OR turn IS NOT NULL)
) STRICT;
CREATE INDEX inbox_queued ON inbox (rank, seq) WHERE state = 'queued';
CREATE INDEX inbox_turn ON inbox (turn) WHERE turn IS NOT NULL;

CREATE TABLE items (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions (id),
  turn INTEGER NOT NULL REFERENCES turns (id),
  step INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  kind TEXT NOT NULL CHECK (kind IN ('input', 'text', 'reasoning', 'call', 'result', 'summary', 'note')),
  parts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(parts)),
  envelope TEXT CHECK (envelope IS NULL OR json_valid(envelope)),
  inbox INTEGER REFERENCES inbox (seq),
  call_id TEXT,
  tool TEXT NOT NULL DEFAULT '',
  args TEXT,
  is_error INTEGER NOT NULL DEFAULT 0 CHECK (is_error IN (0, 1)),
  provider TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '',
  raw TEXT,
  trust TEXT NOT NULL CHECK (trust IN ('owner', 'known', 'public', 'machine')),
  source TEXT NOT NULL,
  tokens INTEGER NOT NULL DEFAULT 0,
  CHECK ((kind IN ('call', 'result')) = (call_id IS NOT NULL))
) STRICT;
CREATE INDEX items_session ON items (session, seq);
CREATE INDEX items_turn ON items (turn, seq);
CREATE UNIQUE INDEX items_call ON items (call_id, kind) WHERE call_id IS NOT NULL;
CREATE UNIQUE INDEX items_inbox ON items (inbox, turn) WHERE inbox IS NOT NULL;

CREATE TABLE questions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  code TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL CHECK (subject IN ('turn-call', 'ask', 'outbox', 'job', 'mcp', 'config', 'call')),
  ref INTEGER NOT NULL DEFAULT 0,
  turn INTEGER REFERENCES turns (id),
  call_id TEXT NOT NULL DEFAULT '',
  tool TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL,
  options TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(options)),
  action_hash TEXT NOT NULL DEFAULT '',
  pattern TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL,
  asked INTEGER NOT NULL,
  until INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'expired', 'consumed')),
  answer TEXT NOT NULL DEFAULT '',
  answered_by INTEGER REFERENCES inbox (seq),
  CHECK (state IN ('open', 'expired') OR answered_by IS NOT NULL)
) STRICT;
CREATE INDEX questions_open ON questions (until) WHERE state = 'open';

CREATE TABLE steps (
  turn INTEGER NOT NULL REFERENCES turns (id),
  n INTEGER NOT NULL CHECK (n > 0),
  kind TEXT NOT NULL CHECK (kind IN ('model', 'tool')),
  state TEXT NOT NULL CHECK (state IN ('allowed', 'asked', 'intent', 'parked', 'done', 'unknown')),
  epoch INTEGER NOT NULL REFERENCES boots (epoch),
  call_id TEXT NOT NULL DEFAULT '',
  tool TEXT NOT NULL DEFAULT '',
  effect TEXT NOT NULL DEFAULT '' CHECK (effect IN ('', 'read', 'keyed', 'checkable', 'once')),
  hash TEXT NOT NULL DEFAULT '',
  question INTEGER REFERENCES questions (id),
  reserve_tokens INTEGER NOT NULL DEFAULT 0,
  reserve_micros INTEGER NOT NULL DEFAULT 0,
  usage TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(usage)),
  started INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (turn, n),
  CHECK ((kind = 'tool') = (call_id <> '')),
  CHECK (state <> 'asked' OR question IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE TABLE waits (
  turn INTEGER NOT NULL REFERENCES turns (id),
  call_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('timer', 'child', 'process', 'event', 'question')),
  until INTEGER NOT NULL DEFAULT 0,
  subject TEXT NOT NULL DEFAULT '',
  question INTEGER REFERENCES questions (id),
  met INTEGER NOT NULL DEFAULT 0,
  how TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (turn, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX waits_open ON waits (until) WHERE met = 0;

CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  cause_kind TEXT NOT NULL CHECK (cause_kind IN ('step', 'question', 'fire', 'command', 'notice')),
  cause_id INTEGER NOT NULL,
  cause_step INTEGER NOT NULL DEFAULT 0,
  address TEXT NOT NULL,
  body TEXT NOT NULL,
  reply_ref TEXT NOT NULL DEFAULT '',
  urgency TEXT NOT NULL CHECK (urgency IN ('normal', 'urgent')),
  created INTEGER NOT NULL,
  not_before INTEGER NOT NULL DEFAULT 0,
  not_after INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('draft', 'held', 'ready', 'done', 'cancelled', 'expired', 'dead')),
  reason TEXT NOT NULL DEFAULT '',
  CHECK (cause_id > 0)
) STRICT;
CREATE INDEX outbox_open ON outbox (address, id) WHERE state IN ('draft', 'held', 'ready');
CREATE INDEX outbox_cause ON outbox (cause_kind, cause_id);

CREATE TABLE deliveries (
  outbox INTEGER NOT NULL REFERENCES outbox (id),
  part INTEGER NOT NULL CHECK (part >= 0),
  body TEXT NOT NULL,
  nonce TEXT NOT NULL,
  remote_id TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  unsure INTEGER NOT NULL DEFAULT 0, -- tries that may have arrived
  tried INTEGER NOT NULL DEFAULT 0,  -- when the first try began
  next_at INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL REFERENCES boots (epoch),
  state TEXT NOT NULL CHECK (state IN ('ready', 'sending', 'sent', 'unknown')),
  error TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (outbox, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_remote ON deliveries (remote_id) WHERE remote_id <> '';

CREATE TABLE triggers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('job', 'watch', 'hook', 'heartbeat')),
  name TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  due INTEGER NOT NULL DEFAULT 0,
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  broken TEXT NOT NULL DEFAULT '',
  failures INTEGER NOT NULL DEFAULT 0,
  hold INTEGER NOT NULL DEFAULT 0,
  removed INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX triggers_name ON triggers (kind, name) WHERE removed = 0;
CREATE INDEX triggers_version ON triggers (version);
CREATE INDEX triggers_due ON triggers (due) WHERE removed = 0 AND paused = 0 AND due > 0;

CREATE TABLE fires (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  trigger INTEGER NOT NULL REFERENCES triggers (id),
  key TEXT NOT NULL,
  due INTEGER NOT NULL,
  created INTEGER NOT NULL,
  started INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('due', 'queued', 'running', 'waiting', 'done')),
  outcome TEXT NOT NULL DEFAULT '' CHECK (outcome IN ('', 'ran', 'failed', 'missed', 'coalesced', 'skipped')),
  late_us INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  turn INTEGER REFERENCES turns (id),
  UNIQUE (trigger, key),
  CHECK ((state = 'done') = (outcome <> ''))
) STRICT;
CREATE INDEX fires_open ON fires (trigger) WHERE state <> 'done';

CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  name TEXT NOT NULL DEFAULT '',
  mime TEXT NOT NULL DEFAULT '',
  trust TEXT NOT NULL CHECK (trust IN ('owner', 'known', 'public', 'machine')),
  source TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE spend (
  day TEXT NOT NULL,
  scope TEXT NOT NULL,
  reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
  used_tokens INTEGER NOT NULL DEFAULT 0 CHECK (used_tokens >= 0),
  reserved_micros INTEGER NOT NULL DEFAULT 0 CHECK (reserved_micros >= 0),
  used_micros INTEGER NOT NULL DEFAULT 0 CHECK (used_micros >= 0),
  warned INTEGER NOT NULL DEFAULT 0 CHECK (warned IN (0, 1, 2)), -- told at 80 %, told at the stop
  PRIMARY KEY (day, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tool TEXT NOT NULL,
  pattern TEXT NOT NULL CHECK (pattern <> ''),
  question INTEGER REFERENCES questions (id),
  created INTEGER NOT NULL,
  uses INTEGER NOT NULL DEFAULT 0,
  revoked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  turn INTEGER REFERENCES turns (id),
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  actor TEXT NOT NULL,
  trust TEXT NOT NULL,
  args_hash TEXT NOT NULL,
  summary TEXT NOT NULL,
  decision TEXT NOT NULL CHECK (decision IN ('allow', 'ask', 'deny')),
  reason TEXT NOT NULL,
  outcome TEXT NOT NULL DEFAULT '',
  took_us INTEGER NOT NULL DEFAULT 0,
  UNIQUE (call_id)
) STRICT;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  session TEXT NOT NULL DEFAULT '',
  turn INTEGER NOT NULL DEFAULT 0,
  inbox INTEGER NOT NULL DEFAULT 0,
  data TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(data))
) STRICT;
CREATE INDEX events_inbox ON events (inbox, type) WHERE inbox > 0;
