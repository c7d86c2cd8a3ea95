package importer_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// The tables of state/openclaw.sqlite with the columns that count here, as src/state/openclaw-state-schema.sql of openclaw/openclaw has had them: first
// with a document of each job, later with columns.
const (
	clawFirst = `CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, job_json TEXT NOT NULL, state_json TEXT NOT NULL DEFAULT '{}',
		sort_order INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL, PRIMARY KEY (store_key, job_id));
		INSERT INTO cron_jobs VALUES ('/home/sam/.openclaw/cron/jobs.json', 'a', '{"name": "Old brief", "enabled": true, "schedule": {"kind": "cron", "expr": "0 6 * * *", "tz": "Asia/Tokyo"},
			"sessionTarget": "isolated", "payload": {"kind": "agentTurn", "message": "Summarize."}, "state": {}}', '{}', 0, 1);
		INSERT INTO cron_jobs VALUES ('/home/sam/.openclaw/cron/jobs.json', 'b', 'broken', '{}', 1, 1);`
	clawLater = `CREATE TABLE cron_jobs (store_key TEXT NOT NULL, job_id TEXT NOT NULL, name TEXT NOT NULL, enabled INTEGER NOT NULL, agent_id TEXT,
		schedule_kind TEXT NOT NULL, schedule_expr TEXT, schedule_tz TEXT, every_ms INTEGER, at TEXT, session_target TEXT NOT NULL, trigger_script TEXT,
		payload_kind TEXT NOT NULL, payload_message TEXT, payload_model TEXT, delivery_mode TEXT, delivery_channel TEXT, delivery_to TEXT,
		job_json TEXT NOT NULL, PRIMARY KEY (store_key, job_id));
		INSERT INTO cron_jobs VALUES
			('k', '1', 'Weekly', 1, 'main', 'cron', '0 9 * * 1', 'Europe/Paris', NULL, NULL, 'isolated', NULL, 'agentTurn', 'Review the week.', 'opus', 'announce', 'telegram', '5550001', '{"name": "another"}'),
			('k', '2', 'Often', 0, NULL, 'every', NULL, NULL, 1800000, NULL, 'main', NULL, 'systemEvent', 'Look.', NULL, NULL, NULL, NULL, '{}'),
			('k', '3', 'When', 1, NULL, 'every', NULL, NULL, 60000, NULL, 'isolated', 'return true', 'agentTurn', 'Go.', NULL, NULL, NULL, NULL, '{}'),
			('k', '4', 'Command', 1, NULL, 'every', NULL, NULL, 60000, NULL, 'isolated', NULL, 'command', '{"argv":["true"]}', NULL, NULL, NULL, NULL, '{}');
		CREATE TABLE channel_pairing_allow_entries (channel_key TEXT NOT NULL, account_id TEXT NOT NULL, entry TEXT NOT NULL, sort_order INTEGER NOT NULL,
			updated_at INTEGER NOT NULL, PRIMARY KEY (channel_key, account_id, entry));
		INSERT INTO channel_pairing_allow_entries VALUES ('telegram', 'default', '5550009', 0, 1);
		CREATE TABLE auth_profile_stores (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL, updated_at INTEGER NOT NULL);
		INSERT INTO auth_profile_stores VALUES ('main', '{"profiles": {"openai:default": {"key": "example-store-key"}}}', 1);`
)

// clawHome makes a folder of OpenClaw with a database, which the other program still has open: all rows are only in its log.
func clawHome(t *testing.T, schema string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/openclaw")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "state", "openclaw.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.ExecContext(t.Context(), "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"+schema); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files are the contents of a folder. The shared memory of a database belongs to its connections.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		fmt.Fprintf(&b, "%s %x\n", path, sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The database of newer versions is read with what is only in its log, counts more than the list that older versions have left, and is not written.
func TestClawDatabase(t *testing.T) {
	dir := clawHome(t, clawLater)
	before := files(t, dir)
	got := lines(t, "openclaw", dir, true)
	for _, want := range []string{
		"imported job Weekly -> weekly (its answer goes to you and not to telegram 5550001; it uses hob's model and not opus; paused,",
		"imported job Often -> often (it was off; paused,",
		"left job When ->  (it runs only when a script says so; see hob cron add --gate)",
		`left job Command ->  (it does not ask a model but runs something else ("command")`,
		"left access state/openclaw.sqlite telegram: 5550009 ->",
		"imported secret state/openclaw.sqlite/profiles.openai:default.key -> secrets/profiles-openai-default-key",
		"left other cron/jobs.json ->  (the jobs are those of state/openclaw.sqlite, which newer versions use)",
		"left other state/openclaw.sqlite ->  (the rest of it",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Morning brief") || strings.Contains(got, "example-") {
		t.Errorf("a job of the old list is planned, or a secret is shown:\n%s", got)
	}
	if after := files(t, dir); after != before {
		t.Errorf("the other program's folder was changed:\n%s\n%s", before, after)
	}
}

// The first databases had a document of each job, and no table of people.
func TestFirstClawDatabase(t *testing.T) {
	got := lines(t, "openclaw", clawHome(t, clawFirst), false)
	for _, want := range []string{"imported job Old brief -> old-brief (paused,", "left job number 2 ->"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

// A database that is none, or that is cut off, is named, and the rest is imported.
func TestBrokenClawDatabase(t *testing.T) {
	for name, text := range map[string]string{"other": strings.Repeat("no database\n", 999), "cut": "SQLite format 3\x00\x10\x00"} {
		dir := clawHome(t, "")
		if err := os.WriteFile(filepath.Join(dir, "state", "openclaw.sqlite"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := lines(t, "openclaw", dir, false)
		for _, want := range []string{"failed other state/openclaw.sqlite ->  (it cannot be read: ", "imported file workspace/AGENTS.md", "imported job Morning brief"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, got)
			}
		}
	}
}
