package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// holding lists the files of a home's state folder that contain a text, without the backups. hob must not run.
func holding(t *testing.T, home, text string) (list []string) {
	t.Helper()
	state := filepath.Join(home, "state")
	err := filepath.WalkDir(state, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path) // #nosec G304 G122 -- of the test
		if strings.Contains(strings.ToLower(string(data)), text) && !strings.HasPrefix(path, filepath.Join(state, "backups")) {
			list = append(list, strings.TrimPrefix(path, state))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// found reports whether a search of the conversations finds a text for a query.
func (r *running) found(query, text string) bool {
	r.t.Helper()
	return strings.Contains(r.run("memory_search", `{"query": "`+query+`", "scope": "history"}`).Message, text)
}

// approved calls a tool that asks first, and answers yes.
func (r *running) approved(tool, args string) string {
	r.t.Helper()
	call := client.ToolCall{Input: json.RawMessage(args)}
	_, err := client.Do(r.t.Context(), r.client, api.CallTool, tool, call)
	p := (*client.Problem)(nil)
	if !errors.As(err, &p) || p.Hash == "" {
		r.t.Fatalf("it does not ask: %v", err)
	}
	call.Approve = p.Hash
	out, err := client.Do(r.t.Context(), r.client, api.CallTool, tool, call)
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Message
}

// indexFiles lists the files of the index of a home.
func indexFiles(t *testing.T, home string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(home, "state", "index.db*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The index of another timeline is not trusted: neither after a restore, nor with a new database, nor when somebody puts its file back.
func TestTheIndexFollowsItsDatabase(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	r := start(t, home)
	r.say("say: the heron nests in march")
	r.until("the index", func() bool { return r.found("heron", "nests in march") })
	backup, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
	if err != nil {
		t.Fatal(err)
	}
	r.say("say: the quetzal sings in may")
	r.until("the index", func() bool { return r.found("quetzal", "sings in may") })
	r.end()
	stale, all := map[string][]byte{}, ""
	for _, path := range indexFiles(t, home) {
		if stale[path], err = os.ReadFile(path); err != nil { // #nosec G304 -- of the test
			t.Fatal(err)
		}
		all += string(stale[path])
	}
	if !strings.Contains(all, "quetzal sings") {
		t.Fatalf("the test looks in the wrong place: %d files", len(stale))
	}
	if _, _, err := daemon.RestoreBackup(t.Context(), home, backup.Path); err != nil {
		t.Fatal(err)
	}
	if left := indexFiles(t, home); len(left) > 0 {
		t.Errorf("the restore leaves %q", left)
	}
	for path, data := range stale {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = start(t, home)
	r.until("the index", func() bool { return r.found("heron", "nests in march") })
	if r.found("quetzal", "sings in may") {
		t.Error("what is not in the restored database is found")
	}
	r.end()

	if err := os.Remove(filepath.Join(home, "state", "hob.db")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	left := []string{"not looked at"}
	if err := daemon.Run(ctx, daemon.Options{Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), NewDatabase: true, Ready: func(daemon.Ready) {
		left = indexFiles(t, home)
		cancel()
	}}); err != nil || len(left) > 0 {
		t.Errorf("a new database leaves %q, %v", left, err)
	}
	r = start(t, home)
	if r.found("heron", "nests in march") {
		t.Error("what is not in the new database is found")
	}
}

// After a fact is forgotten nothing that hob has made of it holds it: no prompt, no summary, no search, no file of the index. What was said stays.
func TestAForgottenFactIsNowhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	r := start(t, home)
	r.say("remember that the garage door code is 4711quetzal")
	r.say("say: a heron")
	r.until("the index", func() bool { return r.found("garage code", "4711quetzal") })
	backup, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
	if err != nil {
		t.Fatal(err)
	}
	out := r.approved("memory_forget", `{"what": "garage door code"}`)
	for _, want := range []string{"forgotten: the garage door code", "in conversations tell it", backup.Path} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	for _, scope := range []string{"all", "history", "memory"} {
		if m := r.run("memory_search", `{"query": "garage door code", "scope": "`+scope+`"}`).Message; strings.Contains(m, "4711quetzal") {
			t.Errorf("%s: it is found: %s", scope, m)
		}
	}
	if !r.found("heron", "a heron") {
		t.Error("something else is gone too")
	}
	r.end()
	for _, f := range holding(t, home, "4711quetzal") {
		if strings.HasPrefix(f, "/index.db") {
			t.Errorf("%s still holds it", f)
		}
	}
	r = start(t, home)
	// A start makes the index that was dropped, and until it is done another one is refused.
	r.until("a new index", func() bool {
		_, err := client.Do(t.Context(), r.client, api.ReindexMemory, "", api.None{})
		if err == nil {
			return true
		}
		if _, _, kind := client.Explain(err); kind != string(event.Clash) {
			t.Fatal(err)
		}
		return false
	})
	r.until("the index", func() bool { return r.found("heron", "a heron") })
	if r.found("garage door code", "4711quetzal") {
		t.Error("it is found in an index that was made anew")
	}
}
