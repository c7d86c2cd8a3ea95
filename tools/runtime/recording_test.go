//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hob/tools"
	"hob/tools/runtime"
)

// pieceStore is a store that also takes artifacts in pieces.
type pieceStore struct {
	artifactStore
	failsAfter int                  // bytes; 0: never
	wrote      func(written []byte) // called after each piece

	mu      sync.Mutex
	written []byte
	ended   []string // what ended the writers
}

func (s *pieceStore) Create() (tools.ArtifactWriter, error) { return s, nil }

func (s *pieceStore) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failsAfter > 0 && len(s.written) >= s.failsAfter {
		return 0, errors.New("disk full")
	}
	s.written = append(s.written, data...)
	if s.wrote != nil {
		s.wrote(s.written)
	}
	return len(data), nil
}

func (s *pieceStore) Sync() error { return nil }

func (s *pieceStore) Keep(_ context.Context, _, source string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, "kept "+source)
	return "a1", nil
}

func (s *pieceStore) Discard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, "discarded")
	return nil
}

// wholeStore is a pieceStore as a store; the method Keep of a writer has another form.
type wholeStore struct{ *pieceStore }

func (s wholeStore) Keep(ctx context.Context, name string, data []byte) (string, error) {
	return s.artifactStore.Keep(ctx, name, data)
}

// newPieces returns a bench whose artifacts go to such a store.
func newPieces(t *testing.T, l runtime.Limits) (*bench, *pieceStore) {
	s := &pieceStore{}
	return newBench(t, l, func(d *runtime.ExecDeps) { d.Artifacts = wholeStore{s} }), s
}

// The artifact is written while the command runs: this command ends only after its first bytes were written. Its bytes are those of the output.
func TestArtifactIsWrittenMeanwhile(t *testing.T) {
	b, s := newPieces(t, runtime.Limits{Keep: 1000, Preview: 1000, ArtifactBytes: 3 << 20})
	var once sync.Once
	s.wrote = func([]byte) {
		once.Do(func() {
			if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	res, out := b.run(t, sh("seq 300000; for i in $(seq 1000); do [ -e go ] && break; sleep 0.01; done; seq 300000; [ -e go ] || echo late"))
	if res.IsError || out.Artifact != "a1" || strings.Contains(res.Content, "late") || !strings.Contains(res.Content, "the first 3072 KB of 3884 KB are kept: result_read a1") {
		t.Fatalf("%.300s", res.Content)
	}
	if len(s.written) != 3<<20 || !bytes.HasPrefix(s.written, []byte("1\n2\n3\n")) || !bytes.Contains(s.written, []byte("\n299999\n300000\n1\n2\n")) {
		t.Errorf("%d bytes were written", len(s.written))
	}
	if len(s.kept) > 0 || len(s.ended) != 1 || !strings.HasPrefix(s.ended[0], "kept") {
		t.Errorf("%d written as a whole; %q", len(s.kept), s.ended)
	}
}

// An output that is cut although it is short is stored as a whole, and one that is shown whole is not stored.
func TestShortOutputIsNotRecorded(t *testing.T) {
	b, s := newPieces(t, runtime.Limits{Keep: 1000, Preview: 1000})
	b.run(t, sh("seq 100"))
	if len(s.kept) > 0 || len(s.ended) > 0 {
		t.Errorf("%d stored, %q", len(s.kept), s.ended)
	}
	if b.run(t, sh("seq 1000")); len(s.kept) != 1 || len(s.kept[0]) != 3893 || len(s.ended) > 0 {
		t.Errorf("%d stored, %q", len(s.kept), s.ended)
	}
}

// A disk that becomes full leaves no half file, and the result says why there is none.
func TestRecordingThatFails(t *testing.T) {
	b, s := newPieces(t, runtime.Limits{Keep: 1000, Preview: 1000})
	s.failsAfter = 1
	res, out := b.run(t, sh("seq 1000000"))
	if res.IsError || out.Artifact != "" || !strings.Contains(res.Content, "could not be kept: disk full") || len(s.kept) > 0 || len(s.ended) != 1 || s.ended[0] != "discarded" {
		t.Errorf("%.300s; %q", res.Content, s.ended)
	}
}

// A process that is killed by its own session is not reported. Nothing of its output is left either.
func TestKilledProcessLeavesNoRecording(t *testing.T) {
	b, s := newPieces(t, runtime.Limits{Keep: 1000, Preview: 1000})
	written := make(chan struct{})
	var once sync.Once
	s.wrote = func([]byte) { once.Do(func() { close(written) }) }
	id := b.background(t, "seq 1000000; sleep 600")
	<-written
	b.handle(t, map[string]any{"action": "kill", "process_id": id})
	b.end()
	b.group.Wait()
	if len(s.kept) > 0 || len(s.ended) != 1 || s.ended[0] != "discarded" {
		t.Errorf("%d stored, %q", len(s.kept), s.ended)
	}
}
