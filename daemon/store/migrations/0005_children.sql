-- Sub-agents: what a turn with a parent was made for. An agent is named by the call that began it; a turn that resumes it has the
-- same agent and the same session.
CREATE TABLE children (
  turn INTEGER PRIMARY KEY REFERENCES turns (id),
  agent TEXT NOT NULL CHECK (agent <> ''),
  call_id TEXT NOT NULL UNIQUE, -- that made this turn
  background INTEGER NOT NULL CHECK (background IN (0, 1)),
  model TEXT NOT NULL DEFAULT '',
  timeout_us INTEGER NOT NULL CHECK (timeout_us > 0),
  halt INTEGER NOT NULL DEFAULT 0 CHECK (halt IN (0, 1)) -- whoever steps it is to stop
) STRICT;
CREATE INDEX children_agent ON children (agent, turn);
CREATE INDEX turns_parent ON turns (parent) WHERE parent IS NOT NULL;
