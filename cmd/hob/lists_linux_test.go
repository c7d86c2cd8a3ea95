package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
	"hob/daemon/console"
)

// scripted is a daemon that answers with fixed rows, on the socket of a home of its own.
func scripted(t *testing.T) (home string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden", "wire.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if home, err = os.MkdirTemp("", "hob"); err != nil { //nolint:usetesting // short enough for a socket
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.MkdirAll(filepath.Join(home, "state", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(home, "state", "run", "hob.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/{resource}", func(w http.ResponseWriter, r *http.Request) {
		doc, ok := rows[r.PathValue("resource")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	})
	mux.HandleFunc("GET /v1/{resource}/{name}", func(w http.ResponseWriter, r *http.Request) {
		var list []json.RawMessage
		if err := json.Unmarshal(rows[r.PathValue("resource")], &list); err != nil {
			http.NotFound(w, r)
			return
		}
		for _, row := range list {
			var named struct{ Name string }
			if json.Unmarshal(row, &named) == nil && named.Name == r.PathValue("name") {
				w.Header().Set("Content-Type", "application/json")
				var b bytes.Buffer
				_ = json.Compact(&b, row) // as the daemon writes it
				_, _ = w.Write(b.Bytes())
				return
			}
		}
		http.NotFound(w, r)
	})
	s := &http.Server{Handler: mux} //nolint:gosec // for a test
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return home
}

// seen is what a command prints on a terminal of a width.
func seen(t *testing.T, width int, args ...string) string {
	t.Helper()
	screen, terminal := pair(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(width)}); err != nil { //nolint:gosec // it fits
		t.Fatal(err)
	}
	printed := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(screen)
		if err != nil && !errors.Is(err, syscall.EIO) { // that is the end of a terminal
			text = append(text, err.Error()...)
		}
		printed <- string(text)
	}()
	a := &cli.App{In: terminal, Out: terminal, Err: terminal}
	root := main.NewRoot(a, nil)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Errorf("hob %s: %v", strings.Join(args, " "), err)
	}
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(<-printed, "\r\n", "\n")
}

// TestLists is every list, with fixed rows, on terminals of three widths (N45: the narrow one has lists): no line is wider, and nothing acts on the terminal.
func TestLists(t *testing.T) {
	home := scripted(t)
	lists := []string{
		"cron list", "cron show plants", "cron runs morning", "turns list", "inbox list", "outbox list", "sessions list --all", "approvals list", "grants list", "tool list", "audit",
		"model list --configured", "channels list",
	}
	for _, width := range []int{50, 80, 200} {
		var b strings.Builder
		for _, list := range lists {
			name := "hob " + list
			page := seen(t, width, append(strings.Fields(list), "--home", home)...)
			for line := range strings.Lines(page) {
				if n := console.Cells(strings.TrimSuffix(line, "\n")); n > width || strings.ContainsAny(line, "\x1b\r") {
					t.Errorf("%s: a line of %d cells in %d, or one that acts on the terminal: %q", name, n, width, line)
				}
			}
			b.WriteString("$ " + name + "\n" + page + "\n")
		}
		golden(t, filepath.Join("testdata", "golden", fmt.Sprintf("lists-%d.txt", width)), b.String())
	}
}

// TestRowsOnTheWire: the fixed rows have the fields that the structs of the daemon have, so that the lists are drawn from what it says.
func TestRowsOnTheWire(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "golden", "wire.json"))
	if err != nil {
		t.Fatal(err)
	}
	var wire map[string]json.RawMessage
	if err := json.Unmarshal(text, &wire); err != nil {
		t.Fatal(err)
	}
	byName := map[string]shape{}
	for _, s := range shapes() {
		byName[s.title] = s
	}
	for resource, title := range map[string]string{
		"jobs": "Job", "fires": "Slot", "turns": "Turn", "inbox": "Inbox row", "outbox": "Message", "sessions": "Session",
		"questions": "Question", "tools": "Tool", "audit": "Call", "channels": "Channel",
	} {
		known := map[string]bool{}
		for _, f := range byName[title].fields(t) {
			known[f.name] = true
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(wire[resource], &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %v", resource, err)
		}
		for _, row := range rows {
			for key := range row {
				if !known[key] {
					t.Errorf("%s: a %s has no field %q", resource, title, key)
				}
			}
		}
	}
}

// TestColor: colours are for terminals, and for nobody who does not want them.
func TestColor(t *testing.T) {
	_, terminal := pair(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	for _, c := range []struct {
		name     string
		app      cli.App
		out      *os.File
		key, val string
		want     bool
	}{
		{"a terminal", cli.App{}, terminal, "TERM", "xterm", true},
		{"a file", cli.App{}, file, "TERM", "xterm", false},
		{"--no-color", cli.App{NoColor: true}, terminal, "TERM", "xterm", false},
		{"NO_COLOR", cli.App{}, terminal, "NO_COLOR", "1", false},
		{"a dumb terminal", cli.App{}, terminal, "TERM", "dumb", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "")
			t.Setenv("TERM", "xterm")
			t.Setenv(c.key, c.val)
			if got := c.app.Color(c.out); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}
