package walk_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hob/daemon/walk"
)

// If a folder listing does not report types, the file is checked. A link is not followed.
func TestKindsThatListsDoNotTell(t *testing.T) {
	dir := put(t, "file", "folder/x")
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	must(t, os.Symlink("folder", filepath.Join(dir, "linked")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	v := &visitor{folder: func(d *walk.Dir, entries []walk.Entry) []walk.Entry {
		if d.Path != "" {
			return nil
		}
		if len(entries) != 5 {
			t.Errorf("entries %v", entries)
		}
		for _, e := range append(entries, walk.Entry{Name: "gone"}) {
			if got := walk.UnknownKind(d, e.Name); got != e.Kind {
				t.Errorf("%s: kind %d, the list says %d", e.Name, got, e.Kind)
			}
		}
		return entries
	}}
	must(t, v.walk(t.Context(), t, dir))
}
