//go:build unix

package fsguard_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"hob/daemon/fsguard"
)

// Text reads only plain files of the owner, whatever has taken their names. A pipe must not even be waited for.
func TestText(t *testing.T) {
	w := newHomeFolder(t)
	path := w.space + "/AGENTS.md"
	file := func(text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for name, c := range map[string]struct {
		make    func() error
		text    string
		foreign string
		err     error
	}{
		"a file":        {func() error { return file("be brief") }, "be brief", "", nil},
		"a long one":    {func() error { return file("be brief and concrete, please") }, "be brief andease", "", nil},
		"nothing":       {func() error { return nil }, "", "", fs.ErrNotExist},
		"a link within": {func() error { return os.Symlink("a.txt", path) }, "content of a.txt", "", nil},
		"a link to elsewhere": {func() error {
			return errors.Join(os.WriteFile(w.home+"/docs/x", []byte("x"), 0o600), os.Symlink(w.home+"/docs/x", path))
		}, "x", "outside the roots", nil},
		"a link to nothing":     {func() error { return os.Symlink("nothing", path) }, "", "", fs.ErrNotExist},
		"a link to the token":   {func() error { return os.Symlink("../state/token", path) }, "", "", fsguard.ErrState},
		"the database":          {func() error { return os.Link(w.state+"/hob.db", path) }, "", "", fsguard.ErrState},
		"a link to a key":       {func() error { return os.Symlink(w.home+"/.ssh/config", path) }, "", "", fsguard.ErrSecret},
		"a link to a .env":      {func() error { return os.Symlink(".env", path) }, "", "", fsguard.ErrSecret},
		"a folder":              {func() error { return os.Mkdir(path, 0o700) }, "", "", fsguard.ErrRegular},
		"a pipe nobody fills":   {func() error { return syscall.Mkfifo(path, 0o600) }, "", "", fsguard.ErrRegular},
		"a link to an open end": {func() error { return os.Symlink("/dev/zero", path) }, "", "", fsguard.ErrRegular},
	} {
		must(t, os.RemoveAll(path))
		must(t, c.make())
		text, at, err := fsguard.Text(w.Guard, path, 16)
		if !errors.Is(err, c.err) || err == nil && (string(text) != c.text || at.Foreign != c.foreign) || err != nil && text != nil {
			t.Errorf("%s: %q, %q, %v; want %q, %q, %v", name, text, at.Foreign, err, c.text, c.foreign, c.err)
		}
	}
}

// Texts keeps what has not changed, and nothing else: a new content, a mark, another guard or another file under the name counts at once.
func TestTexts(t *testing.T) {
	w := newHomeFolder(t)
	path, marked, later := w.space+"/AGENTS.md", "", time.Duration(0)
	var err error
	w.Guard, err = fsguard.New(fsguard.Config{Workspace: w.space, State: w.state, Home: w.home, Marked: func(string) string { return marked }})
	must(t, err)
	texts := fsguard.Texts{Now: func() time.Time { return time.Now().Add(later) }}
	read := func(want, foreign string) fs.FileInfo {
		t.Helper()
		text, at, err := texts.Text(w.Guard, path, 100)
		if err != nil || string(text) != want || at.Foreign != foreign {
			t.Fatalf("%q, %q, %v; want %q, %q", text, at.Foreign, err, want, foreign)
		}
		return at.Info
	}
	if _, _, err := texts.Text(w.Guard, path, 100); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	put := func(text string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	put("be brief")
	// A file that was just written may change once more within one tick of the clock.
	if read("be brief", "") == read("be brief", "") {
		t.Error("a new file is kept")
	}
	later = time.Hour
	if read("be brief", "") != read("be brief", "") {
		t.Error("an old file is read again")
	}
	marked = "written by others"
	read("be brief", marked)
	marked = ""
	put("be quick")
	read("be quick", "")
	must(t, os.Remove(path))
	must(t, os.Symlink("a.txt", path))
	read("content of a.txt", "")
	must(t, os.Remove(path))
	if _, _, err := texts.Text(w.Guard, path, 100); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
