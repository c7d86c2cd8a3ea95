//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords is the length of a page that a person reads in one go.
const maxWords = 1500

// long lists the pages that may be longer, each with its limit and the reason.
var long = map[string]struct {
	words  int
	reason string
}{
	"docs/commands.md":     {25_000, "generated, to look things up"},
	"docs/config.md":       {10_000, "generated, to look things up"},
	"docs/tools.md":        {6_000, "generated, to look things up"},
	"docs/chores.md":       {5_000, "recipes, to look things up"},
	"docs/architecture.md": {3_000, "for people who change hob"},
	"docs/benchmarks.md":   {3_000, "for people who change hob"},
}

// TestDocsAreShort: nobody reads a page of 8,000 words.
func TestDocsAreShort(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		limit := maxWords
		if l, ok := long[page]; ok {
			limit = l.words
		}
		if n := len(strings.Fields(string(text))); n > limit {
			t.Errorf("%s has %d words, more than %d: split it by idea", page, n, limit)
		}
	}
}

// TestDocsBlocks: a block of commands is run by a test, or says why not.
func TestDocsBlocks(t *testing.T) {
	languages := strings.Fields("sh console toml text json yaml markdown python")
	// What begins a line that somebody would type.
	program := regexp.MustCompile(`(?m)^(sudo|hob (up|service|cron|chat|status|backup)|docker|podman|go|tar|sha256sum|curl|brew|git) \S`)
	not := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), "```")
		if len(parts)%2 == 0 {
			t.Errorf("%s has a block that does not end", page)
		}
		for i := 1; i < len(parts); i += 2 {
			info, _, _ := strings.Cut(parts[i], "\n")
			language, more, _ := strings.Cut(info, " ")
			reason, skipped := strings.CutPrefix(more, "not run: ")
			switch {
			case language == "text" && page != "docs/commands.md" && program.MatchString(parts[i]):
				t.Errorf("%s shows commands as text: %q", page, parts[i])
			case info == "" || slices.Contains(languages, info):
			case language == "sh" && skipped && len(strings.Fields(reason)) > 1:
				not++
				t.Logf("%s: not run: %s", page, reason)
			default:
				t.Errorf("%s has a block %q: write sh for commands that a test runs, or \"sh not run: REASON\"", page, info)
			}
		}
	}
	t.Logf("%d blocks of commands are not run", not)
}
