package runtime_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/tools/runtime"
)

// The result of a search is used again only if the folder has the same entries.
func TestASearchHoldsUntilTheFolderChanges(t *testing.T) {
	dir := t.TempDir()
	var again func(string) bool
	for end := time.Now().Add(10 * time.Second); ; { // a folder that was changed a moment ago is searched each time
		if again = runtime.SearchHolds(dir); again(dir) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a folder that nobody touches is searched each time")
		}
	}
	if again(t.TempDir()) {
		t.Error("it holds for another folder")
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again(dir) {
		t.Error("it holds although a key was added")
	}
}
