package edit_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/fsguard"
	"hob/tools/edit"
)

type editedHome struct {
	*fsguard.Guard
	top, space, journal string
}

func newEditedHome(t *testing.T) editedHome {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := editedHome{top: top, space: filepath.Join(top, "ws"), journal: filepath.Join(top, "state", "edits")}
	must(t, os.MkdirAll(w.space, 0o700))
	w.Guard, err = fsguard.New(fsguard.Config{Workspace: w.space, State: filepath.Join(top, "state"), Home: top})
	must(t, err)
	return w
}

func (w editedHome) put(t *testing.T, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(w.space, name), []byte(content), 0o600))
}

func (w editedHome) place(t *testing.T, name string) fsguard.Place {
	t.Helper()
	p, err := w.Resolve("", name)
	must(t, err)
	return p
}

// folder is everything in the workspace, as "name=content ".
func (w editedHome) folder(t *testing.T) string {
	t.Helper()
	out := ""
	must(t, filepath.WalkDir(w.space, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path) // #nosec G122 -- nobody races with the test
		out += filepath.Base(path) + "=" + string(raw) + " "
		return err
	}))
	return out
}

func (w editedHome) job(id string) edit.Job {
	return edit.Job{Folder: w.journal, ID: id, Args: []byte("args")}
}

func TestCommit(t *testing.T) {
	w := newEditedHome(t)
	w.put(t, "a", "1")
	w.put(t, "b", "2")
	infos, err := edit.CommitFiles(t.Context(), w.Guard, w.job("j"), []edit.FileChange{
		{Place: w.place(t, "a"), Data: []byte("one")}, {Place: w.place(t, "b"), Remove: true}, {Place: w.place(t, "c/d"), Data: []byte("new")},
	})
	if got := w.folder(t); err != nil || got != "a=one d=new " || len(infos) != 3 || infos[0].Size() != 3 || infos[1] != nil {
		t.Errorf("%q %v %v", got, infos, err)
	}
	for id, want := range map[string]bool{"j": true, "other": false} {
		if took, err := edit.Committed(w.job(id)); err != nil || took != want {
			t.Errorf("%s: %v %v", id, took, err)
		}
	}
	if took, err := edit.Committed(edit.Job{Folder: w.journal, ID: "j", Args: []byte("others")}); err != nil || took {
		t.Errorf("%v %v", took, err)
	}
}

// When a change cannot be applied after others were, those are taken back. (Here the same file is removed twice.)
func TestCommitTakesBackWhatItDid(t *testing.T) {
	w := newEditedHome(t)
	w.put(t, "a", "1")
	w.put(t, "b", "2")
	before := w.folder(t)
	_, err := edit.CommitFiles(t.Context(), w.Guard, w.job("j"), []edit.FileChange{
		{Place: w.place(t, "a"), Data: []byte("one")},
		{Place: w.place(t, "new/c"), Data: []byte("c")},
		{Place: w.place(t, "b"), Remove: true},
		{Place: w.place(t, "b"), Remove: true},
	})
	if got := w.folder(t); !errors.Is(err, fs.ErrNotExist) || got != before {
		t.Errorf("%q, was %q: %v", got, before, err)
	}
	if _, err := os.Lstat(filepath.Join(w.space, "new")); err == nil {
		t.Error("the folder that was made is still there")
	}
	if took, err := edit.Committed(w.job("j")); err != nil || took {
		t.Errorf("%v %v", took, err)
	}
	entries, err := os.ReadDir(w.journal)
	if err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

// A file that changed since it was judged stops everything, whatever changed: its content, itself, its kind, its absence.
func TestCommitChangesNothingThatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w editedHome)
		want   error
	}{
		"content":      {func(w editedHome) { w.put(t, "b", "22") }, fsguard.ErrMoved},
		"another file": {func(w editedHome) { w.put(t, "x", "2"); must(t, os.Rename(w.space+"/x", w.space+"/b")) }, fsguard.ErrMoved},
		"a link":       {func(w editedHome) { must(t, os.Remove(w.space+"/b")); must(t, os.Symlink("a", w.space+"/b")) }, fsguard.ErrMoved},
		"gone":         {func(w editedHome) { must(t, os.Remove(w.space+"/b")) }, fsguard.ErrMoved},
		"come":         {func(w editedHome) { w.put(t, "n", "his") }, fsguard.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEditedHome(t)
			w.put(t, "a", "1")
			w.put(t, "b", "2")
			changes := []edit.FileChange{
				{Place: w.place(t, "a"), Data: []byte("one")}, {Place: w.place(t, "b"), Data: []byte("two")}, {Place: w.place(t, "n"), Data: []byte("three")},
			}
			c.change(w)
			before := w.folder(t)
			_, err := edit.CommitFiles(t.Context(), w.Guard, w.job("j"), changes)
			if got := w.folder(t); !errors.Is(err, c.want) || got != before {
				t.Errorf("%q, was %q: %v", got, before, err)
			}
		})
	}
}

// A journal that names files outside its folders, or that cannot be read, is not carried out.
func TestRecoverTrustsNoJournalBlindly(t *testing.T) {
	w := newEditedHome(t)
	w.put(t, "a", "1")
	must(t, os.MkdirAll(w.journal, 0o700))
	for name, content := range map[string]string{
		"1.journal": `{"version":1,"steps":[{"folder":"` + w.space + `","name":"../ws/a"}]}`,
		"2.journal": `{"version":1,"steps":[{"folder":"ws","name":"a"}]}`,
		"3.journal": `{"version":2,"steps":[{"folder":"` + w.space + `","name":"a"}]}`,
		"4.journal": `{"version":1,"st`,
		"5.began":   `{"version":1,"steps":[{"folder":"` + w.space + `","name":"b","temp":"a"}]}`,
		"6.tmp":     `half`,
	} {
		must(t, os.WriteFile(filepath.Join(w.journal, name), []byte(content), 0o600))
	}
	if err := edit.Recover(t.Context(), w.journal); err == nil {
		t.Error("no error")
	}
	if got := w.folder(t); got != "a=1 " {
		t.Errorf("%q", got)
	}
	if err := edit.Recover(t.Context(), filepath.Join(w.top, "missing")); err != nil {
		t.Error(err)
	}
}
