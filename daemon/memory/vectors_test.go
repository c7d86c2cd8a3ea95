package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/embed"
	"hob/daemon/fsguard"
	"hob/daemon/memory"
)

// meanings is a server for embeddings that knows which words mean the same.
type meanings struct {
	mu     sync.Mutex
	bodies string
	size   int // of its vectors
	status int
	hold   chan struct{} // if set, a request waits until it is closed
}

func (m *meanings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a broken body gives no input
	m.mu.Lock()
	if hold := m.hold; hold != nil {
		m.mu.Unlock()
		<-hold
		m.mu.Lock()
	}
	if m.status == hangs {
		m.mu.Unlock()
		<-r.Context().Done()
		return
	}
	defer m.mu.Unlock()
	m.bodies += string(body)
	var in struct{ Input []string }
	if m.status != 0 || json.Unmarshal(body, &in) != nil {
		w.WriteHeader(m.status)
		return
	}
	groups := [][]string{{"car", "automobile", "vehicle"}, {"doctor", "physician"}, {"bread", "loaf"}}
	type row struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var rows []row
	for i, text := range in.Input {
		v := make([]float32, m.size)
		v[m.size-1] = 0.05
		for g, words := range groups {
			for _, word := range words {
				if strings.Contains(strings.ToLower(text), word) {
					v[g] = 1
				}
			}
		}
		rows = append([]row{{i, v}}, rows...) // in another order
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": rows}) // the client may be gone
}

// hangs is a status of a server that never answers.
const hangs = -1

// change alters what the server and the index read, while they run.
func (m *meanings) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *meanings) set(size, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.size, m.status = size, status
}

// withVectors makes an index over files, with a server for embeddings.
func withVectors(t *testing.T, m *meanings, set *config.Embeddings, now *time.Time, files map[string]string) *memory.Index {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	space := filepath.Join(dir, "workspace")
	for name, text := range files {
		path := filepath.Join(space, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: space, State: filepath.Join(dir, "state"), Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	set.BaseURL, set.Timeout = server.URL, 5*time.Second
	clock := func() time.Time {
		m.mu.Lock()
		defer m.mu.Unlock()
		return *now
	}
	x := memory.New(t.Context(), memory.Options{
		Path: filepath.Join(dir, "state", "index.db"), Guard: func() *fsguard.Guard { return g }, Now: clock, Log: slog.New(slog.DiscardHandler),
		Redact: strings.NewReplacer("tk_topsecret", "[secret t]").Replace,
		Vectors: &embed.Service{Now: clock, Endpoint: func(ctx context.Context) (embed.Endpoint, error) {
			snap := config.Default()
			m.mu.Lock()
			snap.Memory.Embeddings = *set
			m.mu.Unlock()
			return embed.Of(ctx, snap, nil, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
		}},
	})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// complete waits until every chunk has a vector, or the server has failed.
func complete(t *testing.T, x *memory.Index) memory.VectorStatus {
	t.Helper()
	for range 1000 {
		all, err := x.Status(t.Context())
		if err != nil || all.Vectors == nil {
			t.Fatal(all, err)
		}
		s := *all.Vectors
		if s.Missing == 0 && s.Have > 0 || s.Fault != "" {
			return s
		}
		select {
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("the vectors are not made")
	return memory.VectorStatus{}
}

func look(t *testing.T, x *memory.Index, words string) (first, notes string) {
	t.Helper()
	found, err := x.Search(t.Context(), memory.Query{Text: words, Owner: true, MinScore: memory.DefaultScore})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found.Passages {
		first += fmt.Sprintf("%s ", p.Path)
	}
	return first, strings.Join(found.Notes, "; ")
}

func TestSearchByMeaning(t *testing.T) {
	m, set, now := &meanings{size: 4}, &config.Embeddings{Model: "a"}, time.Unix(1e9, 0)
	x := withVectors(t, m, set, &now, map[string]string{
		"memory/garage.md":  "The car is a blue Volvo, serviced in May. The code is tk_topsecret.\n",
		"memory/health.md":  "The physician is Dr. Weiss.\n",
		"memory/foreign.md": "Every vehicle must be sold, says the mail about the automobile.\n",
	})
	if _, err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := complete(t, x); s.Fault != "" || s.Have != 3 {
		t.Fatalf("%+v", s)
	}
	if first, notes := look(t, x, "automobile"); !strings.HasPrefix(first, "memory/garage.md ") || notes != "" {
		t.Errorf("found %q (%s): own text of the same meaning comes before foreign text with the word", first, notes)
	}
	if first, _ := look(t, x, "tk_topsecret doctor"); !strings.HasPrefix(first, "memory/health.md ") {
		t.Errorf("found %q", first)
	}
	if strings.Contains(m.bodies, "tk_topsecret") {
		t.Error("a secret was sent")
	}
	// Nothing of it comes by itself into a turn, and a quick search asks no server.
	before := len(m.bodies)
	if list := x.Recall(t.Context(), "automobile"); len(list) != 0 || len(m.bodies) != before {
		t.Errorf("recalled %+v", list)
	}
	// Another model has other vectors: all are made again. The server waits until the search has been seen: a pass may have begun already.
	hold := make(chan struct{})
	m.change(func() { set.Model, m.hold = "b", hold })
	if _, notes := look(t, x, "automobile"); !strings.Contains(notes, "still being made") {
		t.Errorf("notes %q", notes)
	}
	m.change(func() { m.hold = nil })
	close(hold)
	if s := complete(t, x); s.Fault != "" || !strings.Contains(s.Space, " b ") {
		t.Fatalf("%+v", s)
	}
	if first, notes := look(t, x, "automobile"); !strings.HasPrefix(first, "memory/garage.md ") || notes != "" {
		t.Errorf("found %q (%s)", first, notes)
	}
}

// Whatever the server does, a search by words works and says why it is only that.
func TestAServerThatFailsNeverFailsASearch(t *testing.T) {
	m, set, now := &meanings{size: 4}, &config.Embeddings{Model: "a"}, time.Unix(1e9, 0)
	x := withVectors(t, m, set, &now, map[string]string{"memory/a.md": "The car is blue.\n"})
	if _, err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	complete(t, x)
	for _, c := range []struct {
		size, status int
		want         string
	}{
		{9, 0, "vectors of another length than before"},
		{4, 503, "HTTP 503"},
		{4, 402, "wants to be paid"},
		{4, hangs, "did not answer within"},
	} {
		m.change(func() { now = now.Add(time.Hour) })
		m.set(c.size, c.status)
		if first, notes := look(t, x, "car"); first != "memory/a.md " || !strings.Contains(notes, "without vectors") || !strings.Contains(notes, c.want) {
			t.Errorf("found %q (%s), want %q", first, notes, c.want)
		}
		if s, err := x.Status(t.Context()); err != nil || s.Vectors == nil || !strings.Contains(s.Vectors.Fault, c.want) {
			t.Errorf("%+v %v", s, err)
		}
	}
	m.change(func() { now = now.Add(time.Hour) })
	m.set(4, 0)
	if first, notes := look(t, x, "automobile"); first != "memory/a.md " || notes != "" {
		t.Errorf("found %q (%s)", first, notes)
	}
}
