package channelstest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/channels"
)

// These lines delimit the part of docs/channels.md that is generated from the adapters and their worlds.
const (
	tableBegin = "<!-- made by go generate ./channels/channelstest: what each channel can do -->\n"
	tableEnd   = "<!-- end of what each channel can do -->\n"
	tableHead  = "| channel | form, limit | waits while hob is away | edits come in | deletions come in | files in | files out | buttons | grows by edits | typing | repeats | groups | threads | tested with |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)

//go:generate env HOB_TABLE=write go test -count=1 -p=1 -run ^TestTable$ hob/channels/...

// Table checks the row of docs/channels.md for a kind of channel. The abilities are those of the adapter; the
// rest is what the suite tests in its worlds. Each world adds its real server. With HOB_TABLE=write the row is
// written; otherwise a stale row fails.
func Table(t *testing.T, kind string, worlds ...World) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "channels.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	want := row(kind, worlds)
	fixed, err := withRow(page, kind, want)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("HOB_TABLE") == "write" { // only the person who runs the tests can set it
		if err := os.WriteFile(path, []byte(fixed), 0o600); err != nil { // #nosec G703 -- the path stands above
			t.Fatal(err)
		}
		page = fixed
	}
	if fixed != page {
		t.Errorf("docs/channels.md is stale: run go generate ./channels/channelstest\nwant %s", want)
	}
}

// row returns the row of a kind of channel.
func row(kind string, worlds []World) string {
	w := worlds[0]
	can := channels.AbilitiesOf(w.Open())
	limit := "no limit"
	if can.Limit > 0 {
		limit = fmt.Sprint(can.Limit)
	}
	out := "–"
	if can.MaxFile > 0 {
		out = fmt.Sprintf("%d MB", can.MaxFile>>20)
	}
	kept := "yes"
	switch {
	case w.SendOnly:
		kept = "it only sends"
	case w.Forgets:
		kept = "no, and it is said"
	}
	servers := []string{"a fake server"}
	if w.Sent == nil { // it sends nothing itself
		servers = nil
	}
	for _, w := range worlds {
		if w.Forgets && kept == "yes" {
			kept = "where the server keeps it; else it is said"
		}
		if w.Server != "" && !slices.Contains(servers, w.Server) {
			servers = append(servers, w.Server)
		}
	}
	repeats := map[channels.Repeats]string{channels.ByKey: "known by their key", channels.ByLook: "looked up", channels.Marked: "marked"}[can.Repeats]
	cells := []string{
		kind, can.Form + ", " + limit, kept, yes(w.People.Edit != nil), yes(w.People.Delete != nil), yes(w.People.Attach != nil), out, yes(can.Buttons),
		yes(can.Edits), yes(can.Typing), repeats, yes(can.Groups && !w.SendOnly), yes(w.People.Thread != nil), strings.Join(servers, ", "),
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "–"
}

// withRow returns a page with the kind's row replaced.
func withRow(page, kind, row string) (string, error) {
	before, rest, ok := strings.Cut(page, tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return "", fmt.Errorf("docs/channels.md has no lines %q and %q", tableBegin, tableEnd)
	}
	rows := []string{row}
	for line := range strings.Lines(strings.TrimPrefix(table, tableHead)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| "+kind+" |") {
			rows = append(rows, line)
		}
	}
	slices.Sort(rows)
	return before + tableBegin + tableHead + strings.Join(rows, "") + tableEnd + after, nil
}
