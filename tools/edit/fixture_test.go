package edit_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/edit"
)

// fixture is a workspace with the three tools.
type fixture struct {
	top, dir, journal     string
	guard                 *fsguard.Guard
	seen                  seen
	told                  map[string]string // what watches are told of hob's own writes: hashes by path
	edit, patch, notebook tools.Tool
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return fixtureIn(t, top)
}

func fixtureIn(t testing.TB, top string) fixture {
	t.Helper()
	d := fixture{top: top, dir: filepath.Join(top, "ws"), journal: filepath.Join(top, "state", "edits"), seen: seen{}, told: map[string]string{}}
	must(t, os.MkdirAll(d.dir, 0o700))
	must(t, os.MkdirAll(filepath.Join(top, "state"), 0o700))
	var err error
	d.guard, err = fsguard.New(fsguard.Config{Workspace: d.dir, State: filepath.Join(top, "state"), Home: top, Wrote: func(path, hash string) { d.told[path] = hash }})
	must(t, err)
	deps := edit.Deps{Guard: d.guard, Seen: d.seen, Journal: d.journal}
	d.edit, d.patch, d.notebook = edit.NewEdit(deps), edit.NewPatch(deps), edit.NewNotebook(deps)
	return d
}

// seen is what the sessions have read: hashes by path, whatever the session.
type seen map[string][sha256.Size]byte

func (s seen) Changed(_ *fsguard.Guard, _ int64, p fsguard.Place) (bool, error) {
	was, ok := s[p.Path]
	if !ok {
		return false, nil
	}
	if !p.Exists() {
		return true, nil
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return false, err
	}
	now := sha256.New()
	_, err = io.Copy(now, io.LimitReader(f, seenSize))
	return [sha256.Size]byte(now.Sum(nil)) != was, errors.Join(err, f.Close())
}

func (s seen) Wrote(_ int64, path string, _ iofs.FileInfo, data []byte) {
	s[path] = sum(data)
}

// seenSize is how many bytes of a file are looked at: enough for these tests, and nothing that a benchmark would see.
const seenSize = 64 << 10

// sum looks at the beginning of a file only.
func sum(data []byte) [sha256.Size]byte { return sha256.Sum256(data[:min(len(data), seenSize)]) }

func (s seen) Forget(_ int64, path string) { delete(s, path) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d fixture) put(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func (d fixture) get(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.dir, name))
	must(t, err)
	return string(raw)
}

// m is a folder: contents by path.
type m map[string]string

// all is everything in the workspace, empty folders ("name/": "") and temporary files too.
func (d fixture) all(t testing.TB) m {
	t.Helper()
	found := m{}
	must(t, filepath.WalkDir(d.dir, func(path string, e iofs.DirEntry, err error) error {
		if err != nil || path == d.dir {
			return err
		}
		rel, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			entries, err := os.ReadDir(path)
			if len(entries) == 0 {
				found[rel+"/"] = ""
			}
			return err
		}
		raw, err := os.ReadFile(path) // #nosec G122 -- nobody races with the test
		found[rel] = string(raw)
		return err
	}))
	return found
}

type args map[string]any

func (d fixture) call(t testing.TB, id string, a args) tools.Call {
	t.Helper()
	raw, err := json.Marshal(a)
	must(t, err)
	return tools.Call{ID: id, Session: 1, Args: raw, Workdir: d.dir, Zone: "UTC"}
}

func (d fixture) do(t testing.TB, tool tools.Tool, a args) tools.Result {
	t.Helper()
	c := d.call(t, "t1_1", a)
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	must(t, err)
	if strings.Contains(res.Content, "internal error") {
		t.Fatal(res.Content)
	}
	return res
}

// crlf writes a text with Windows line endings.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
