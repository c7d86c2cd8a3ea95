-- hob's own work: the todo list and the plan mode of a conversation, and the backlog of tasks.
CREATE TABLE todos (
  session INTEGER NOT NULL REFERENCES sessions (id),
  n INTEGER NOT NULL CHECK (n > 0),
  content TEXT NOT NULL CHECK (content <> ''),
  status TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
  active_form TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX todos_one ON todos (session) WHERE status = 'in_progress';

CREATE TABLE plans ( -- the sessions that plan
  session INTEGER PRIMARY KEY REFERENCES sessions (id),
  since INTEGER NOT NULL
) STRICT;

-- A queued task has an inbox row with the source 'task' and the ext_id "id/attempt"; its turn says whether it runs.
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL CHECK (title <> ''),
  prompt TEXT NOT NULL CHECK (prompt <> ''),
  state TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'done', 'failed', 'cancelled')),
  blocked_by TEXT NOT NULL CHECK (json_type(blocked_by) = 'array'),
  not_before INTEGER NOT NULL DEFAULT 0,
  priority INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  trust TEXT NOT NULL CHECK (trust IN ('owner', 'known', 'public', 'machine')),
  tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1)),
  typed INTEGER NOT NULL DEFAULT 0 CHECK (typed IN (0, 1)),
  reply_to TEXT NOT NULL DEFAULT '',
  result TEXT NOT NULL DEFAULT '',
  turn INTEGER REFERENCES turns (id), -- that ended it
  created INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0,
  CHECK ((ended > 0) = (state IN ('done', 'failed', 'cancelled'))),
  CHECK (state <> 'queued' OR attempt > 0)
) STRICT;
CREATE INDEX tasks_open ON tasks (state) WHERE state NOT IN ('done', 'cancelled');

-- The owner may drop the inbox row of a task, and retry it: the task goes with it. Its end has the row's time, for there is no clock in SQL.
CREATE TRIGGER tasks_dropped AFTER UPDATE OF state ON inbox WHEN new.source = 'task' AND new.state = 'dropped'
BEGIN
  UPDATE tasks SET state = 'cancelled', result = new.reason, ended = max(new.received, 1) WHERE id = CAST(new.ext_id AS INTEGER) AND state = 'queued' AND new.ext_id = id || '/' || attempt;
END;
CREATE TRIGGER tasks_retried AFTER UPDATE OF state ON inbox WHEN new.source = 'task' AND new.state = 'queued' AND old.state <> 'queued'
BEGIN
  UPDATE tasks SET state = 'queued', result = '', turn = NULL, ended = 0 WHERE id = CAST(new.ext_id AS INTEGER) AND state IN ('failed', 'cancelled') AND new.ext_id = id || '/' || attempt;
END;
