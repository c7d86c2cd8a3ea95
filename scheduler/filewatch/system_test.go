package filewatch_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"hob/scheduler/filewatch"
)

// A folder that has taken the name of another one while no event was read: fsnotify loses the name's watch, and panics over it.
func TestANameThatWasTakenOver(t *testing.T) {
	dir := t.TempDir()
	n, err := filewatch.OpenSystem()
	must(t, err)
	defer func() { must(t, n.Close()) }()
	for _, name := range []string{"/busy", "/a", "/b"} {
		must(t, os.Mkdir(dir+name, 0o700))
		must(t, n.Add(dir+name))
	}
	events, _ := n.Feed()
	for i := range cap(events) + 1 { // now it waits for a reader
		must(t, os.WriteFile(fmt.Sprint(dir, "/busy/", i), nil, 0o600))
	}
	for len(events) < cap(events) {
		runtime.Gosched()
	}
	must(t, os.Remove(dir+"/b"))
	must(t, os.Rename(dir+"/a", dir+"/b"))
	must(t, n.Add(dir+"/b"))
	if err := n.Remove(dir + "/b"); err == nil {
		t.Error("it has a watch for the name: fsnotify is mended, and the guard around Remove can go")
	}
	must(t, os.Rename(dir+"/b", dir+"/a"))
	must(t, os.Mkdir(dir+"/b", 0o700))
	must(t, n.Add(dir+"/b"))
	must(t, n.Remove(dir+"/b"))
}
