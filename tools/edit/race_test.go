//go:build unix

package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/tools"
)

// Another process keeps swapping a folder for a link out of the workspace. No patch may change anything outside.
func TestASwappedFolderLeadsNowhere(t *testing.T) {
	d := newFixture(t)
	out := filepath.Join(d.top, "out")
	must(t, os.Mkdir(out, 0o700))
	must(t, os.WriteFile(filepath.Join(out, "f"), []byte("outside\n"), 0o600))
	d.put(t, "dir/f", abc)
	dir, away := filepath.Join(d.dir, "dir"), filepath.Join(d.dir, "away")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			// A patch may make the folder anew while it is away: then that one goes.
			if errors.Join(os.Rename(dir, away), os.Symlink(out, dir), os.Remove(dir), os.Rename(away, dir)) != nil {
				_ = errors.Join(os.RemoveAll(dir), os.Rename(away, dir))
			}
		}
	}()
	c := d.call(t, "t1_1", args{"patch": around("*** Update File: dir/f\n@@\n b\n*** Add File: dir/new\n+x")})
	codes := map[tools.Code]int{}
	for range 200 {
		clear(d.seen)
		intent, err := d.patch.Intent(t.Context(), c)
		if err != nil {
			codes[tools.ErrorResult(err).Code]++
			continue
		}
		if intent.Paths[0].Area != tools.Workspace { // it saw the link: the permission rules would ask
			continue
		}
		res, err := d.patch.Run(t.Context(), c, intent)
		must(t, err)
		codes[res.Code]++
	}
	close(stop)
	<-stopped
	if _, err := os.Lstat(filepath.Join(out, "new")); err == nil {
		t.Error("a file was written outside")
	}
	if raw, err := os.ReadFile(filepath.Join(out, "f")); err != nil || string(raw) != "outside\n" {
		t.Errorf("%q %v", raw, err)
	}
	t.Logf("%v", codes)
}

// T14: a patch that adds a file is for the folder that was there when the owner was asked.
func TestANewFileIsBoundToItsFolder(t *testing.T) {
	d := newFixture(t)
	d.put(t, "dir/f", abc)
	c := d.call(t, "t1_1", args{"patch": around("*** Add File: dir/new\n+x")})
	before, err := d.patch.Intent(t.Context(), c)
	must(t, err)
	dir := filepath.Join(d.dir, "dir")
	must(t, errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o700)))
	after, err := d.patch.Intent(t.Context(), c)
	must(t, err)
	if string(before.Canonical) == string(after.Canonical) {
		t.Errorf("another folder has the same approval: %s", before.Canonical)
	}
	res, err := d.patch.Run(t.Context(), c, before)
	if err != nil {
		res = tools.ErrorResult(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); res.Code != tools.Conflict || err == nil {
		t.Errorf("written into another folder: %+v", res)
	}
	res, err = d.patch.Run(t.Context(), c, after)
	if must(t, err); res.IsError {
		t.Error(res.Content)
	}
}
