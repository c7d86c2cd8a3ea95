package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/tools/edit"
)

// small puts a file system of so many bytes at a folder of the world; without the right to do so it skips.
func small(t *testing.T, at, size string) {
	t.Helper()
	must(t, os.MkdirAll(at, 0o700))
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no right to mount here: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(at, 0)) })
}

// The disk may be full while new content is staged, or while the journal is written: nothing changes, and no file remains.
func TestAFullDiskChangesNothing(t *testing.T) {
	big := []byte(strings.Repeat("x", 200<<10))
	for name, c := range map[string]struct {
		at   func(w editedHome) string
		size string
		fill int // bytes of it that are taken
	}{
		"no room for the second file":   {func(w editedHome) string { return w.space }, "300k", 0},
		"no room for any":               {func(w editedHome) string { return w.space }, "300k", 200 << 10},
		"no room for the first record":  {func(w editedHome) string { return w.journal }, "64k", 64 << 10},
		"no room for the whole journal": {func(w editedHome) string { return w.journal }, "64k", 60 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEditedHome(t)
			small(t, c.at(w), c.size)
			w.put(t, "a", "1")
			if c.fill > 0 {
				must(t, os.WriteFile(filepath.Join(c.at(w), "taken"), make([]byte, c.fill), 0o600))
			}
			before := w.folder(t)
			_, err := edit.CommitFiles(t.Context(), w.Guard, w.job("j"), []edit.FileChange{
				{Place: w.place(t, "a"), Data: big}, {Place: w.place(t, "new/b"), Data: big},
			})
			if got := w.folder(t); !errors.Is(err, syscall.ENOSPC) || got != before {
				t.Errorf("%d bytes, were %d: %v", len(got), len(before), err)
			}
			if _, err := os.Lstat(filepath.Join(w.space, "new")); err == nil {
				t.Error("the folder that was made is still there")
			}
			must(t, os.RemoveAll(filepath.Join(c.at(w), "taken")))
			if entries, err := os.ReadDir(w.journal); err != nil || len(entries) > 0 {
				t.Errorf("left in the journal: %v %v", entries, err)
			}
			must(t, edit.Recover(t.Context(), w.journal))
			if took, err := edit.Committed(w.job("j")); err != nil || took {
				t.Errorf("%v %v", took, err)
			}
		})
	}
}
