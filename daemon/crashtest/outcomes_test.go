//go:build linux

package crashtest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// checkSubagents checks the promises about subagents that hold at every moment: the commit that ends a subagent also records that
// end for the turn that waits for it.
func checkSubagents(b records) (broken []string) {
	for _, rule := range [][2]string{
		{"I3 a sub-agent has ended, and who waits for it does not know", `SELECT c.agent, w.turn FROM children c JOIN turns t ON t.id = c.turn JOIN waits w ON w.kind = 'child' AND w.subject = c.agent AND w.met = 0
			JOIN turns p ON p.id = w.turn AND p.ended = 0 WHERE t.ended > 0 AND NOT EXISTS (SELECT 1 FROM children n JOIN turns nt ON nt.id = n.turn WHERE n.agent = c.agent AND nt.ended = 0)`},
		{"I3 a sub-agent in the background has ended, and nobody hears of it", `SELECT c.agent, t.state FROM children c JOIN turns t ON t.id = c.turn WHERE c.background = 1 AND t.state = 'done'
			AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.source = 'sub-agent' AND i.ext_id = c.call_id) AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.kind = 'child' AND w.how = t.id)`},
		{"I3 a sub-agent's end was told twice", `SELECT turn, count(*) FROM (SELECT json_extract(data, '$.turn') AS turn FROM events WHERE type = 'child.finished') GROUP BY turn HAVING count(*) > 1`},
		{"I3 two sub-agents of one call", "SELECT call_id, count(*) FROM children GROUP BY call_id HAVING count(*) > 1"},
		{"I8 a sub-agent has changed something", "SELECT c.agent, s.tool, s.effect FROM children c JOIN steps s ON s.turn = c.turn WHERE s.kind = 'tool' AND s.effect <> 'read' AND s.started > 0"},
		{"a task is tried more often than it was to be", "SELECT k.id, k.attempt, count(*) AS n FROM tasks k JOIN inbox i ON i.source = 'task' AND CAST(i.ext_id AS INTEGER) = k.id GROUP BY k.id HAVING n > k.attempt"},
		{"a task is to run and is not in the inbox", "SELECT k.id, k.attempt FROM tasks k WHERE k.state = 'queued' AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.source = 'task' AND i.ext_id = k.id || '/' || k.attempt)"},
		{"a task's turn has ended and the task has not", "SELECT k.id, i.turn FROM tasks k JOIN inbox i ON i.source = 'task' AND i.ext_id = k.id || '/' || k.attempt JOIN turns t ON t.id = i.turn WHERE k.ended = 0 AND t.ended > 0"},
		{"a task has run before what it waits for was done", "SELECT k.id, b.value FROM tasks k, json_each(k.blocked_by) b JOIN tasks o ON o.id = b.value WHERE k.attempt > 0 AND o.state <> 'done'"},
		{"a task's end was told twice", "SELECT json_extract(data, '$.task') AS task, count(*) FROM events WHERE type = 'task.finished' GROUP BY task HAVING count(*) > 1"},
	} {
		broken = append(broken, b.none(rule[0], rule[1])...)
	}
	return broken
}

// checkTasks checks the state of sub-agents, tasks, todos, plans and marks when nothing is open any more.
func (r *harness) checkTasks(b records) (broken []string) {
	for _, rule := range [][2]string{
		{"a task has not been done", "SELECT id, state, attempt, result FROM tasks WHERE state <> 'done' OR attempt <> 1"},
		{"a task's result is not what its turn said", "SELECT k.id, k.result, t.text FROM tasks k LEFT JOIN turns t ON t.id = k.turn WHERE t.text IS NOT k.result"},
		{"a task that was added is not there once", `SELECT c.call_id, json_extract(c.args, '$.arguments.title') AS named FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' AND x.is_error = 0
			WHERE c.kind = 'call' AND json_extract(c.args, '$.name') = 'task_add' AND (SELECT count(*) FROM tasks k WHERE k.title = named) <> 1`},
		{"a sub-agent that was spawned is not there once", `SELECT c.call_id FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' AND x.is_error = 0
			WHERE c.kind = 'call' AND c.tool = 'sessions_spawn' AND (SELECT count(*) FROM children k WHERE k.call_id = c.call_id) <> 1`},
		{"a conversation still plans", "SELECT session FROM plans"},
		{"a context item is not the last that was written", `SELECT path FROM (SELECT json_extract(c.args, '$.path') AS path, json_extract(c.args, '$.content') AS content, max(c.seq)
			FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' AND x.is_error = 0 WHERE c.kind = 'call' AND c.tool = 'context_write' GROUP BY 1) l
			WHERE NOT EXISTS (SELECT 1 FROM context_items i WHERE i.path = l.path AND i.content = l.content)`},
		{"nobody knows whether a context item was written", `SELECT turn, n FROM steps WHERE tool = 'context_write' AND state = 'unknown'`},
		{"a todo list is not the last that was written", `SELECT session, call_id FROM (SELECT c.session, c.call_id, max(c.seq), json_array_length(c.args, '$.todos') AS want, json_extract(c.args, '$.todos[0].status') AS first
			FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' AND x.is_error = 0 WHERE c.kind = 'call' AND c.tool = 'todo' GROUP BY c.session) l
			WHERE want <> (SELECT count(*) FROM todos t WHERE t.session = l.session) OR first <> (SELECT status FROM todos t WHERE t.session = l.session AND t.n = 1)`},
		{"a wait is open and nothing waits", "SELECT w.turn, w.kind, w.subject FROM waits w JOIN turns t ON t.id = w.turn WHERE w.met = 0 AND t.ended = 0"},
		{"what a turn wrote after it had read foreign text has no mark", `SELECT a.call_id, c.args FROM audit a JOIN items c ON c.call_id = a.call_id AND c.kind = 'call' JOIN items x ON x.call_id = a.call_id AND x.kind = 'result' AND x.is_error = 0
			WHERE a.tool = 'write' AND a.tainted = 1 AND NOT EXISTS (SELECT 1 FROM marks m WHERE m.path LIKE '%/workspace/' || json_extract(c.args, '$.path'))`},
		{"a turn wrote after a foreign page, and the audit does not know", `SELECT a.call_id FROM audit a JOIN items c ON c.call_id = a.call_id AND c.kind = 'call' WHERE a.tool = 'write' AND a.tainted = 0 AND json_extract(c.args, '$.content') LIKE 'taint-%'`},
	} {
		broken = append(broken, b.none(rule[0], rule[1])...)
	}
	return append(append(broken, r.checkPatches(b)...), r.checkJournals()...)
}

// checkPatches compares the files of each patch with its versions: all files have the same version, and none is older than the calls that
// reported success.
func (r *harness) checkPatches(b records) (broken []string) {
	least := map[string]int{}
	for _, row := range b.rows(`SELECT c.args FROM items c JOIN items x ON x.call_id = c.call_id AND x.kind = 'result' AND x.is_error = 0 WHERE c.kind = 'call' AND c.tool IN ('apply_patch', 'edit') ORDER BY c.seq`) {
		least[tokens.FindString(row[0])]++
	}
	folders, err := filepath.Glob(filepath.Join(r.home, "workspace", "p", "*"))
	if err != nil {
		return []string{err.Error()}
	}
	seen := map[string]bool{}
	for _, folder := range folders {
		token := filepath.Base(folder)
		seen[token] = true
		now, err := filesOf(folder)
		if err != nil {
			return append(broken, err.Error())
		}
		if at := versionOf(token, now); at < 0 {
			broken = append(broken, fmt.Sprintf("the files of %s are neither all old nor all new: %q", token, now))
		} else if at < least[token] {
			broken = append(broken, fmt.Sprintf("I6 %d changes of %s say that they worked, and its files are of version %d", least[token], token, at))
		}
	}
	for token := range least {
		if !seen[token] {
			broken = append(broken, "I6 a patch says that it worked, and there are no files of "+token)
		}
	}
	return broken
}

// versionOf is the version that files are of, all of them; -1: of none.
func versionOf(token string, now map[string]string) int {
	for i, want := range versions(token) {
		if maps.Equal(now, want) {
			return i
		}
	}
	return -1
}

func filesOf(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	now := map[string]string{}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		now[e.Name()] = string(raw)
	}
	return now, nil
}

// checkJournals checks I11 for edits: once hob has recovered, only receipts are left.
func (r *harness) checkJournals() (broken []string) {
	entries, err := os.ReadDir(filepath.Join(r.home, "state", "edits"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{err.Error()}
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".done") {
			broken = append(broken, "I11 a journal is left: "+e.Name())
		}
	}
	return broken
}
