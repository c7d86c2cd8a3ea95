//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A measured row takes the place of the row of its name, or comes after the row that is before it in the list. Other tables of the page stay.
func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	page := "# Page\n\n| what | hob |\n|---|---|\n| exec to the ready line | 9 ms |\n| glob in Go's source | 1 ms |\n\n| part | command |\n|---|---|\n| glob in Go's source | go test |\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cells := range [][]string{{"glob in Go's source", "2 ms"}, {"CPU of `hob version`", "3 ms"}, {"anonymous memory that these watches take", "4 MB"}} {
		if err := publish(path, cells); err != nil {
			t.Fatal(err)
		}
	}
	want := "# Page\n\n| what | hob |\n|---|---|\n| exec to the ready line | 9 ms |\n| CPU of `hob version` | 3 ms |\n| glob in Go's source | 2 ms |\n| anonymous memory that these watches take | 4 MB |\n" +
		"\n| part | command |\n|---|---|\n| glob in Go's source | go test |\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if err := publish(filepath.Join(t.TempDir(), "none.md"), []string{"x"}); err == nil {
		t.Error("a page that is not there was written")
	}
}
