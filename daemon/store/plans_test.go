package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
)

// growing are the tables that grow for as long as hob is used. A statement that reads all rows of one gets slower from year to year.
var growing = strings.Fields("turns items inbox outbox deliveries steps waits fires triggers audit events questions sessions children artifacts edits tasks spend endpoint_requests")

// few are the indexes of rows that are open or exceptional. There are few such rows, however large the table is.
var few = strings.Fields("fires_told fires_due fires_open fires_late fires_outcome inbox_queued inbox_commands inbox_expiring inbox_held inbox_burst turns_one_main outbox_open questions_open waits_open tasks_open audit_denied audit_verdict sessions_open triggers_due triggers_config triggers_trouble")

// scans are the statements that may read or sort many rows of a growing table, by a part of their text, with the reason.
var scans = []struct{ part, why string }{
	{"WHERE true ORDER BY", "a list without a filter ends with its limit"},
	{"ORDER BY archived > 0, id DESC", "the newest sessions until the page is full; then the page is sorted"},
	{"coalesce((SELECT b.reply_to FROM sessions o", "where one conversation was answered last"},
	{"DELETE FROM endpoint_requests WHERE at <", "once a day"},
	{"DELETE FROM prompts WHERE hash NOT IN", "when the owner wants something forgotten"},
	{"UPDATE tasks SET title = 'removed'", "when the owner wants something forgotten"},
	{"UPDATE edits SET text = ''", "when the owner wants something forgotten"},
	{"UPDATE inbox SET parts = '[]'", "when the owner wants something forgotten"},
	{"UPDATE events SET data = '{}'", "when the owner wants something forgotten"},
	{"OR EXISTS (SELECT 1 FROM json_each(?2) p WHERE p.value IN (prompt", "when the owner wants something forgotten"},
	{"FROM items WHERE parts LIKE ?1", "when the owner wants something forgotten"},
	{"WHERE f.state = ?1 OR iif(f.outcome", "slots that are done or ran: most are, so the list soon ends"},
	{"session = ?2 OR source = ?2", "newest first until the page is full; an index for it would be written with each message"},
	{"tool = ?2", "newest first until the page is full"},
	{"f.trigger IN (SELECT id FROM triggers WHERE name = ?2", "the slots of one job are sorted"},
	{"ORDER BY seq DESC LIMIT 1), 0))", "the newest event"},
	{"ORDER BY id DESC LIMIT 1), 0)) FROM inbox INDEXED BY inbox_queued", "the newest turn"},
	{"WHERE state = 'queued' AND kind = 'command'", "few commands wait"},
	{"FROM inbox INDEXED BY inbox_queued", "sorts what has the same rank"},
	{"INDEXED BY inbox_commands", "sorts what waits"},
	{"WHERE action_hash = ?", "few questions are open at a time"},
	{"kind = 'watch' AND removed = 0", "there are few watches"},
	{"kind = 'hook' AND removed = 0", "there are few webhooks"},
	{"SELECT state, count(*) FROM", "the page of metrics counts by an index"},
	{"DELETE FROM artifacts WHERE source = ?1", "once a day"},
	{"SELECT id FROM artifacts", "when the owner removes a session"},
	{"AS goes FROM items", "when the owner removes a session: does anything else name its files"},
	{"DELETE FROM events WHERE at < ?", "once a day; events are kept for a while only"},
	{"UPDATE triggers SET hold = ?1", "after a jump of the clock"},
	{"FROM tasks", "tasks are made one by one by the owner"},
	{"SELECT (SELECT user_version FROM pragma_user_version)", "when a backup is looked at, which reads it whole"},
	{"SELECT (SELECT count(*) FROM inbox WHERE received > ?1)", "when a backup is restored"},
	{"UPDATE deliveries SET state = 'unknown', error = ? WHERE state = 'sending'", "when a backup is restored"},
	{"t.state IN ('failed', 'dead') ORDER BY i.seq DESC", "sorts the turns that failed, which are few"},
}

// checkPlans reads the query plans of all statements that stand in the sources of this package or that its tests have used, and returns 1 if one reads
// all rows of a table that grows. Production keeps no statistics (there is no ANALYZE), so the plans are the same in an empty database.
func checkPlans() int {
	written, err := writtenStatements()
	var found []string
	if err == nil {
		found, err = badPlans(storetest.Statements(), written)
	}
	if err != nil {
		fmt.Println("query plans:", err)
		return 1
	}
	for _, text := range found {
		fmt.Println(text)
	}
	return min(len(found), 1)
}

// writtenStatements returns the texts in the sources of this package that begin like a statement. Some are only a part of one.
func writtenStatements() (list []string, err error) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	begins := regexp.MustCompile(`^(SELECT|UPDATE|DELETE|INSERT|WITH)\s`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && begins.MatchString(text) {
					list = append(list, text)
				}
			}
			return true
		})
	}
	return list, nil
}

// badPlans returns a text for each statement that is slow in a large database. A part of a statement has no plan; the whole is read where a test uses it.
func badPlans(statements, parts []string) (found []string, err error) {
	dir, err := os.MkdirTemp("", "plans")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of a test
	migrations := store.Migrations()
	path := filepath.Join(dir, "hob.db")
	d, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrations: migrations, Now: time.Now})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // of a test
	for _, query := range slices.Concat(statements, parts) {
		if regexp.MustCompile(`^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA)`).MatchString(query) {
			continue
		}
		plan, err := planOf(db, query)
		if err != nil && !slices.Contains(parts, query) {
			return nil, fmt.Errorf("%w in %s", err, query)
		}
		slow := slowSteps(query, plan)
		excused := slices.ContainsFunc(scans, func(s struct{ part, why string }) bool { return strings.Contains(query, s.part) })
		if len(slow) > 0 && !excused {
			found = append(found, fmt.Sprintf("a statement reads all rows of a table that grows (%s):\n  %s", strings.Join(slow, "; "), query))
		}
	}
	return found, nil
}

// planOf returns the lines of a query plan.
func planOf(db *sql.DB, query string) (plan []string, err error) {
	// EXPLAIN needs a value for each parameter, and the driver does not tell their number.
	for n := range 40 {
		rs, failed := db.Query("EXPLAIN QUERY PLAN "+query, make([]any, n)...)
		plan, err = sqlite.Collect(rs, failed, func(rs *sql.Rows) (detail string, err error) {
			var id, parent, unused int
			return detail, rs.Scan(&id, &parent, &unused, &detail)
		})
		if err == nil {
			return plan, nil
		}
	}
	return nil, err
}

// slowSteps returns the steps of a plan that read all rows of a growing table, or sort what such a step or a LIMIT is about to cut.
func slowSteps(query string, plan []string) (slow []string) {
	for _, step := range plan {
		words := strings.Fields(step)
		switch {
		case words[0] == "SCAN" && slices.Contains(few, words[len(words)-1]):
		case words[0] == "SCAN" && slices.Contains(growing, tableOf(query, words[1])):
			slow = append(slow, step)
		case strings.HasPrefix(step, "USE TEMP B-TREE FOR ORDER BY") && strings.Contains(query, "LIMIT"):
			slow = append(slow, step)
		}
	}
	return slow
}

// tableOf returns the table of an alias in a query.
func tableOf(query, alias string) string {
	if m := regexp.MustCompile(`(?:FROM|JOIN|UPDATE|,)\s+(\w+)\s+(?:AS\s+)?` + regexp.QuoteMeta(alias) + `\b`).FindStringSubmatch(query); m != nil {
		return m[1]
	}
	return alias
}

// A statement that no index serves is found, and one that an index serves is not.
func TestPlans(t *testing.T) {
	const slow, quick = "SELECT id FROM outbox WHERE reason = ?", "SELECT id FROM outbox WHERE key = ?"
	found, err := badPlans([]string{slow}, []string{quick, "SELECT id FROM "})
	if err != nil || len(found) != 1 || !strings.Contains(found[0], slow) {
		t.Errorf("found %q, %v", found, err)
	}
}
