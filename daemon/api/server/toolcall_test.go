package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/api/server"
)

// Tools that cannot work here are listed only for all=1, with the reason, and say it when they are asked for by name.
func TestMissingTools(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	type row struct{ Name, Group, Missing string }
	list := func(path string) (rows []row) {
		t.Helper()
		got := do(t, h, "GET", path, "")
		if err := json.Unmarshal([]byte(got.raw), &rows); got.status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s, %v", path, got.status, got.raw, err)
		}
		return rows
	}
	if rows := list("/v1/tools"); len(rows) != 1 || rows[0] != (row{"read", "fs", ""}) {
		t.Errorf("%+v", rows)
	}
	if rows := list("/v1/tools?all=1"); len(rows) != 2 || rows[1] != (row{"tmux", "runtime", "tmux is not installed"}) {
		t.Errorf("all: %+v", rows)
	}
	if got := do(t, h, "GET", "/v1/tools/tmux", ""); got.status != http.StatusNotFound || !strings.Contains(got.raw, "cannot work here: tmux is not installed") {
		t.Errorf("%d %s", got.status, got.raw)
	}
}
