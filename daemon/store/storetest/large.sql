-- The rows of a home that was used for three years. :turns is the number of turns; the other tables follow from it. :start is the time of the first
-- turn and :gap the time between two turns, in microseconds; :job is the JSON of a job, with NAME and HOUR for its name and its hour.
-- Every statement names the values that it needs; the foreign keys are checked by the test, not while rows are added.

-- Filler text, from which messages take parts of different lengths.
CREATE TEMP TABLE text AS SELECT group_concat(t, ' ') AS words FROM (
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
  SELECT substr('please look at the list of last week and tell me what has changed since then, because the printer upstairs waits for paper, the garden for rain', 1 + i * 7 % 110, 3 + i % 29) AS t FROM n);

CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns) SELECT i FROM n;

INSERT INTO boots (epoch, started, clean, crashed, version)
  SELECT i, :start + (i - 1) * 1000 * :gap, 1, 0, 'test' FROM n WHERE i <= :turns / 1000 + 1;

INSERT INTO prompts (hash, text, tools, created)
  SELECT printf('%064x', i), (SELECT substr(words, 1, 2000) FROM text), '[]', :start FROM n WHERE i <= 20;

-- One conversation for each hundred turns, six of ten in main; the newest of main and the newest 200 of the others are live. The sessions above
-- :turns/100 + 1 are those of subagents.
INSERT INTO sessions (id, key, title, kind, watermark, prompt, created, archived)
  SELECT i, CASE WHEN i % 10 < 6 OR i = :turns / 100 + 1 THEN 'main' WHEN i % 10 = 6 THEN 'group:telegram:' || i WHEN i % 10 = 7 THEN 'job:' || i WHEN i % 10 = 8 THEN 'mail:' || i ELSE 'chat:' || i END,
    '', CASE WHEN i % 10 < 6 OR i = :turns / 100 + 1 THEN 'main' WHEN i % 10 = 6 THEN 'group' WHEN i % 10 = 7 THEN 'job' WHEN i % 10 = 8 THEN 'thread' ELSE 'chat' END,
    iif(i % 10 = 8, 'public', 'owner'), printf('%064x', 1 + i % 20), :start + (i - 1) * 100 * :gap,
    iif(i = :turns / 100 + 1 OR i % 10 >= 6 AND i > :turns / 100 - 2000, 0, :start + i * 100 * :gap)
  FROM n WHERE i <= :turns / 100 + 1;
INSERT INTO sessions (id, key, title, kind, watermark, created, archived)
  SELECT :turns / 100 + 1 + i, 'child:' || i, 'look something up', 'child', 'owner', :start + i * 100 * :gap, 0 FROM n WHERE i <= :turns / 100;

-- Jobs, one for each ten turns.
INSERT INTO triggers (kind, name, body, due, version)
  SELECT 'job', 'job-' || i, replace(replace(:job, 'NAME', 'job-' || i), 'HOUR', i % 24), :start + :turns * :gap + 3600000000 * (2 + i % 24) + i % 3600 * 1000000, i FROM n WHERE i <= :turns / 10;

-- Every third turn is a run of a job. A slot without a turn stands between.
INSERT INTO fires (id, trigger, key, due, created, started, ended, state, outcome, late_us, reason, turn)
  SELECT i / 3, 1 + i / 3 % (:turns / 10), 'at:' || i, :start + i * :gap, :start + i * :gap, :start + i * :gap, :start + i * :gap + 2000000, 'done',
    iif(i % 33 = 0, 'missed', 'ran'), i % 900 * 1000, '', iif(i % 33 = 0, NULL, i) FROM n WHERE i % 3 = 0;

-- Failures were in the first weeks. Every hundredth turn is a subagent of the turn before it.
INSERT INTO turns (id, session, parent, state, attempts, epoch, asker, reply_to, fire, started, ended, running_us, why, text, tokens, cost)
  SELECT i, iif(i % 100 = 50, :turns / 100 + 1 + (i + 50) / 100, 1 + (i - 1) / 100), iif(i % 100 = 50, i - 1, NULL),
    CASE WHEN i < :turns / 50 AND i % 20 = 0 THEN 'failed' WHEN i % 997 = 0 THEN 'stopped' WHEN i % 4999 = 0 THEN 'dead' ELSE 'done' END, 1, 1 + i / 1000,
    iif(i % 3 = 0, 'machine', 'owner'), iif(i % 2 = 0, 'cli:main', 'telegram:4711'), iif(i % 3 = 0 AND i % 33 <> 0 AND i % 100 <> 50, i / 3, NULL),
    :start + i * :gap, :start + i * :gap + 2000000, 2000000, iif(i < :turns / 50 AND i % 20 = 0, 'the model did not answer', ''), (SELECT substr(words, 1 + i % 900, 20 + i % 80) FROM text), 2900, 400 FROM n;
INSERT INTO children (turn, agent, call_id, background, model, timeout_us)
  SELECT i, 'a' || i, 't' || (i - 1) || '_9', 0, '', 300000000 FROM n WHERE i % 100 = 50;

INSERT INTO inbox (seq, source, ext_id, session, kind, rank, trust, sender, reply_to, parts, fire, received, turn, state, reason, person)
  SELECT i, CASE WHEN i % 3 = 0 THEN 'job' WHEN i % 2 = 0 THEN 'cli' ELSE 'telegram' END, printf('%010d', i),
    (SELECT key FROM sessions WHERE id = 1 + (i - 1) / 100), iif(i % 3 = 0, 'fire', 'message'), iif(i % 3 = 0, 2, 0), iif(i % 3 = 0, 'machine', 'owner'), '', iif(i % 2 = 0, 'cli:main', 'telegram:4711'),
    json_array(json_object('kind', 'text', 'text', (SELECT substr(words, 1 + i % 800, 10 + i % 90) FROM text))), iif(i % 3 = 0, i / 3, NULL), :start + i * :gap, i,
    CASE WHEN i < :turns / 50 AND i % 20 = 0 THEN 'dead' WHEN i % 997 = 0 THEN 'dropped' ELSE 'done' END, '', iif(i % 3 > 0 AND i % 2 > 0, '4711', '') FROM n;

-- An input and an answer for each turn, and a call with its result in each twentieth.
INSERT INTO items (seq, session, turn, step, role, kind, parts, envelope, inbox, call_id, tool, args, trust, source, provider, model)
  SELECT s, session, turn, step, role, kind, parts, envelope, inbox, call_id, tool, args, 'owner', source, provider, provider FROM (
    SELECT i * 4 AS s, iif(i % 100 = 50, :turns / 100 + 1 + (i + 50) / 100, 1 + (i - 1) / 100) AS session, i AS turn, 0 AS step, 'user' AS role, 'input' AS kind,
      json_array(json_object('kind', 'text', 'text', (SELECT substr(words, 1 + i % 800, 10 + i % 90) FROM text))) AS parts,
      '{"source":"cli","zone":"Etc/UTC","trust":"owner","kind":"message"}' AS envelope, i AS inbox, NULL AS call_id, '' AS tool, NULL AS args, 'cli' AS source, '' AS provider FROM n
    UNION ALL SELECT i * 4 + 1, 1 + (i - 1) / 100, i, 1, 'assistant', 'call', 'null', NULL, NULL, 't' || i || '_1', 'read', '{"path":"notes.md"}', 'model', 'openai' FROM n WHERE i % 20 = 0
    UNION ALL SELECT i * 4 + 2, 1 + (i - 1) / 100, i, 2, 'tool', 'result', json_array(json_object('kind', 'text', 'text', (SELECT substr(words, 1 + i % 800, 600) FROM text))), NULL, NULL, 't' || i || '_1', 'read', NULL, 'read', '' FROM n WHERE i % 20 = 0
    UNION ALL SELECT i * 4 + 3, iif(i % 100 = 50, :turns / 100 + 1 + (i + 50) / 100, 1 + (i - 1) / 100), i, 3, 'assistant', 'text', json_array(json_object('kind', 'text', 'text', (SELECT substr(words, 1 + i % 900, 20 + i % 80) FROM text))), NULL, NULL, NULL, '', NULL, 'model', 'openai' FROM n)
  ORDER BY s;

INSERT INTO questions (id, code, subject, turn, text, address, asked, until, state, answer, answered_by)
  SELECT i / 100, printf('Q%07d', i / 100), 'turn-call', i, 'may it run this?', 'cli:main', :start + i * :gap, :start + i * :gap + 86400000000, iif(i % 300 = 0, 'expired', 'consumed'), iif(i % 300 = 0, '', 'yes'), iif(i % 300 = 0, NULL, i)
  FROM n WHERE i % 100 = 0;
INSERT INTO grants (tool, pattern, question, created) SELECT 'exec', 'git status ' || i, i / 100, :start + i * :gap FROM n WHERE i % 20000 = 0;

INSERT INTO steps (turn, n, kind, state, epoch, call_id, tool, effect, hash, usage, started, ended, model)
  SELECT i, s, iif(s = 2, 'tool', 'model'), 'done', 1 + i / 1000, iif(s = 2, 't' || i || '_1', ''), iif(s = 2, 'read', ''), iif(s = 2, 'read', ''), '',
    iif(s = 2, '{}', '{"input":2871,"cached":2500,"output":40,"reasoning":0,"cost_micros":400,"priced":true}'), :start + i * :gap + s * 1000, :start + i * :gap + s * 1000 + 900, iif(s = 2, '', 'gpt-mini')
  FROM n, (SELECT 1 AS s UNION ALL SELECT 2 UNION ALL SELECT 3) WHERE s = 1 OR i % 20 = 0;
INSERT INTO audit (at, turn, call_id, tool, actor, trust, args_hash, summary, decision, reason, outcome, took_us)
  SELECT :start + i * :gap, i, 't' || i || '_1', 'read', 'turn', 'owner', printf('%032x', i), 'read notes.md', iif(i % 4000 = 0, 'deny', 'allow'), 'reading', 'ok', 900 FROM n WHERE i % 20 = 0;

-- Every hundredth message was sent as part of the next one.
INSERT INTO outbox (id, key, cause_kind, cause_id, cause_step, address, body, urgency, created, ended, state, joined)
  SELECT i, 'turn:' || i || ':final', 'step', i, 1, iif(i % 2 = 0, 'cli:main', 'telegram:4711'), (SELECT substr(words, 1 + i % 900, 20 + i % 80) FROM text), 'normal', :start + i * :gap, :start + i * :gap + 2000000,
    CASE WHEN i % 100 = 7 THEN 'cancelled' WHEN i < :turns / 50 AND i % 40 = 0 THEN 'dead' ELSE 'done' END, iif(i % 100 = 7, i + 2, 0) FROM n;
INSERT INTO deliveries (outbox, part, body, nonce, remote_id, attempts, tried, epoch, state)
  SELECT i, 0, (SELECT substr(words, 1 + i % 900, 20 + i % 80) FROM text), 'turn:' || i || ':final', iif(i % 2 = 0, '', 'm' || i), 1, :start + i * :gap, 1 + i / 1000, 'sent' FROM n WHERE i % 100 <> 7;

-- Events are kept for a while only.
INSERT INTO events (seq, type, at, session, turn, inbox, data)
  SELECT i * 4 + k, CASE k WHEN 0 THEN 'event.accepted' WHEN 1 THEN 'turn.started' WHEN 2 THEN 'message.sent' ELSE 'turn.finished' END, :start + i * :gap + k, 'main', i, iif(k < 2, i, 0),
    json_object('turn', i, 'text', (SELECT substr(words, 1 + i % 900, 20 + i % 80) FROM text))
  FROM n, (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) WHERE i > :turns - :turns / 40;

INSERT INTO artifacts (id, sha256, size, name, mime, trust, source, created)
  SELECT printf('%016x', i), printf('%064x', i), 20000, 'result.txt', 'text/plain', 'owner', iif(i % 200 = 0, 'outbox', 'exec'), :start + i * :gap FROM n WHERE i % 50 = 0;
INSERT INTO tasks (title, prompt, state, blocked_by, attempt, trust, turn, created, ended)
  SELECT 'task ' || i, 'tidy the cellar', 'done', '[]', 1, 'owner', i, :start + i * :gap, :start + i * :gap + 1 FROM n WHERE i % 1000 = 0;
INSERT INTO todos (session, n, content, status) SELECT i, 1, 'look at the list', 'completed' FROM n WHERE i <= :turns / 1000;
INSERT INTO spend (day, scope, used_tokens, used_micros)
  SELECT date('2023-01-01', '+' || i || ' days'), k, 2900000, 400000 FROM n, (SELECT 'day' AS k UNION ALL SELECT 'source:cli' UNION ALL SELECT 'source:telegram' UNION ALL SELECT 'source:job') WHERE i <= :turns / 1000;
INSERT INTO marks (path, why, turn, at) SELECT '/home/me/notes/page-' || i || '.md', 'turn ' || i || ' wrote it', i, :start + i * :gap FROM n WHERE i % 5000 = 0;
INSERT INTO edits (source, ext_id, message, inbox, text) SELECT 'telegram', 'edit-' || i, i, i, 'the other list' FROM n WHERE i % 500 = 1;
