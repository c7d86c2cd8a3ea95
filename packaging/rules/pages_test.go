package rules_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// TestTablesOfPages (U76): each row of a table is one line and has as many cells as the head. CommonMark ends a table at a row that goes on in
// the next line.
func TestTablesOfPages(t *testing.T) {
	t.Parallel()
	root := os.DirFS(repository(t))
	rows := 0
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".md" || path.Dir(p) != "." && !strings.HasPrefix(p, "docs/") {
			return err
		}
		text, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		head, code := 0, false
		for n, line := range strings.Split(string(text), "\n") {
			code = code != strings.HasPrefix(strings.TrimSpace(line), "```")
			if code || !strings.HasPrefix(line, "|") {
				head = 0
				continue
			}
			rows++
			cells := cellsOf(line)
			if head == 0 {
				head = cells
			}
			if cells != head || !strings.HasSuffix(line, "|") {
				t.Errorf("%s:%d: the row has %d cells, the head of its table %d: %s", p, n+1, cells, head, line)
			}
		}
		return nil
	})
	if err != nil || rows < 100 {
		t.Errorf("%d rows: %v", rows, err)
	}
}

// cellsOf counts the cells of a row. A bar in a code span, or after a backslash, ends none.
func cellsOf(line string) int {
	cells, code := -1, false
	for i, r := range line {
		switch {
		case r == '`':
			code = !code
		case r == '|' && !code && (i == 0 || line[i-1] != '\\'):
			cells++
		}
	}
	return cells
}
