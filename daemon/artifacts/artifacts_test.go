package artifacts_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/tools"
)

// table holds the rows of artifacts in memory.
type table map[string]artifacts.Artifact

func (t table) KeepArtifact(_ context.Context, a artifacts.Artifact) error {
	t[a.ID] = a
	return nil
}

func (t table) ArtifactNamed(_ context.Context, id string) (artifacts.Artifact, error) {
	a, ok := t[id]
	if !ok {
		return a, event.NewFault(event.Missing, "", "there is no artifact %s", id)
	}
	return a, nil
}

func (t table) Reserve(context.Context, event.In) (int64, event.Receipt, error) {
	return 0, event.Receipt{}, nil
}

func (t table) AcceptFiles(context.Context, int64, event.In, []artifacts.Artifact) (event.Receipt, error) {
	return event.Receipt{}, nil
}

func (t table) ForgetEnclosed(context.Context) ([]string, error) { return nil, nil }

func (t table) Abandoned(context.Context, int64) (bool, error) { return false, nil }

// Bytes returns artifacts of up to 8 MB. A missing or larger artifact is an error that says so.
func TestBytes(t *testing.T) {
	dir, rows := t.TempDir(), table{}
	s := artifacts.Store{Dir: dir, Workspace: t.TempDir(), Rows: rows, View: rows, IDs: sys.RandomIDs()}
	keep := func(size int) string {
		t.Helper()
		id, err := s.Keep(t.Context(), "x", make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if data, err := s.Bytes(t.Context(), keep(8<<20)); err != nil || len(data) != 8<<20 {
		t.Errorf("8 MB: %d bytes, %v", len(data), err)
	}
	gone := keep(3)
	if err := os.Remove(filepath.Join(dir, gone)); err != nil {
		t.Fatal(err)
	}
	for id, says := range map[string]string{keep(8<<20 + 1): "has more than 8 MB", gone: "no such file", "anone": "no such artifact"} {
		if data, err := s.Bytes(t.Context(), id); err == nil || data != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %d bytes, %v, want %q", id, len(data), err, says)
		}
	}
}

// An artifact says whose text it is when it is opened.
func TestKeepForeign(t *testing.T) {
	rows := table{}
	s := artifacts.Store{Dir: t.TempDir(), Workspace: t.TempDir(), Rows: rows, View: rows, IDs: sys.RandomIDs()}
	for _, c := range []struct {
		keep   func() (string, error)
		trust  event.Trust
		source string
	}{
		{func() (string, error) { return s.Keep(t.Context(), "x", []byte("mine")) }, event.Owner, "tool"},
		{func() (string, error) { return s.KeepForeign(t.Context(), "x", "attachment", []byte("theirs")) }, event.Public, "attachment"},
	} {
		id, err := c.keep()
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Body.Close(); err != nil || a.Name != "x" || a.Trust != c.trust || a.Source != c.source || rows[id].Trust != c.trust {
			t.Errorf("%+v %+v %v", a, rows[id], err)
		}
	}
}

// Bytes that arrive in pieces become the same artifact as the whole. A file that was not ended, as after a crash, is removed at the next start; so is a discarded one.
func TestPieces(t *testing.T) {
	dir, rows := t.TempDir(), table{}
	s := artifacts.Store{Dir: dir, Workspace: t.TempDir(), Rows: rows, View: rows, IDs: sys.RandomIDs()}
	piecewise := func() tools.ArtifactWriter {
		t.Helper()
		w, err := s.Create()
		for _, piece := range []string{"one ", "", "and two"} {
			if err == nil {
				_, err = w.Write([]byte(piece))
			}
		}
		if err = errors.Join(err, w.Sync()); err != nil {
			t.Fatal(err)
		}
		return w
	}
	whole, err := s.KeepForeign(t.Context(), "x", "mail", []byte("one and two"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := piecewise().Keep(t.Context(), "x", "mail")
	if err != nil {
		t.Fatal(err)
	}
	got, want := rows[id], rows[whole]
	if got.ID = want.ID; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if data, err := s.Bytes(t.Context(), id); err != nil || string(data) != "one and two" {
		t.Errorf("%q, %v", data, err)
	}
	if id, err = piecewise().Keep(t.Context(), "x", ""); err != nil || rows[id].Trust != event.Owner || rows[id].Source != "tool" {
		t.Errorf("%+v, %v", rows[id], err)
	}
	piecewise() // a crash
	if err := errors.Join(piecewise().Discard(), s.Sweep(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(rows) {
		t.Errorf("%d files of %d artifacts, %v", len(left), len(rows), err)
	}
}
