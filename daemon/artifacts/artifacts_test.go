package artifacts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/sys"
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
