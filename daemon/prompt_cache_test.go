package daemon_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/mcp/mcptest"
)

// biller is a server of the Messages protocol with a prompt cache as its documentation describes it
// (https://platform.claude.com/docs/en/build-with-claude/prompt-caching): what ends at a breakpoint is kept for five minutes, and again after each use;
// a request reads the longest such beginning at one of its breakpoints, or up to 20 blocks before one. It counts four bytes as one token.
type biller struct {
	least int // tokens: shorter beginnings are not kept
	reply func(last json.RawMessage) llm.Answer

	mu       sync.Mutex
	kept     map[[32]byte]time.Time // beginnings by their hash, and until when
	end      int                    // tokens up to the last breakpoint of the request before
	requests int
	breaks   int // requests that read less than the one before had left
	first    llm.Usage
	sum      llm.Usage // without the first request
	wrong    []string
}

// Rules of the cache.
const (
	mostBreakpoints = 4
	lookBack        = 20 // blocks
	cacheLifetime   = 5 * time.Minute
)

func (b *biller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req struct {
		System   []json.RawMessage `json:"system"`
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Role    string            `json:"role"`
			Content []json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err != nil || r.URL.Path != "/v1/messages" || json.Unmarshal(body, &req) != nil || len(req.Messages) == 0 {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	blocks := append(append([]json.RawMessage{}, req.Tools...), req.System...)
	for _, m := range req.Messages {
		blocks = append(blocks, m.Content...)
	}
	last := req.Messages[len(req.Messages)-1].Content
	answer := b.reply(last[len(last)-1])
	answer.Usage = b.bill(blocks)
	answer.Usage.Output = len(answer.Text)/4 + 1
	t := llmtest.Streamed(answer)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, t.MessagesWire(len(body))) // the client may be gone
}

// bill counts a request and keeps its beginnings.
func (b *biller) bill(blocks []json.RawMessage) llm.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum, length := sha256.New(), 0
	hashes, tokens, breakpoints := make([][32]byte, len(blocks)), make([]int, len(blocks)), []int(nil)
	for i, raw := range blocks {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			b.wrong = append(b.wrong, err.Error())
		}
		if mark := fields["cache_control"]; mark != nil {
			if string(mark) != `{"type":"ephemeral"}` {
				b.wrong = append(b.wrong, string(mark))
			}
			breakpoints, raw = append(breakpoints, i), bytes.Replace(raw, []byte(`,"cache_control":`+string(mark)), nil, 1)
		}
		sum.Write(raw)
		length += len(raw)
		hashes[i], tokens[i] = [32]byte(sum.Sum(nil)), length/4
	}
	if len(breakpoints) > mostBreakpoints {
		b.wrong = append(b.wrong, fmt.Sprintf("%d breakpoints", len(breakpoints)))
	}
	u, now := llm.Usage{Input: length / 4}, time.Now()
	for _, at := range breakpoints {
		for i := at; i >= max(at-lookBack, 0); i-- {
			if until, ok := b.kept[hashes[i]]; ok && until.After(now) {
				u.Cached, b.kept[hashes[i]] = max(u.Cached, tokens[i]), now.Add(cacheLifetime)
				break
			}
		}
	}
	for _, at := range breakpoints {
		if tokens[at] >= b.least {
			b.kept[hashes[at]] = now.Add(cacheLifetime)
			u.Written = max(tokens[at]-u.Cached, 0)
		}
	}
	if b.requests++; b.requests == 1 {
		b.first = u
	} else {
		b.sum = b.sum.Add(u)
		if u.Cached < b.end {
			b.breaks++
		}
	}
	b.end = u.Cached + u.Written
	return u
}

// Nearly all input of a conversation is read from the cache of Anthropic's models: over forty turns, in turns of thirty steps, and in turns that call thirty
// tools at once, which is more than a breakpoint looks back.
func TestThePromptCacheOfAnthropic(t *testing.T) {
	book := strings.Repeat("The harbour is deep enough for three ships at low tide. ", 40)
	for _, c := range []struct {
		name         string
		turns, steps int
		at           int // calls of one step
		window       int
		least        int     // tokens of the shortest beginning that is kept
		share        float64 // of the input, at least; thirty calls at once bring much that is new
		offered      int     // tools of an MCP server that the owner has accepted
	}{
		{"forty turns", 40, 1, 1, 32_768, 1024, 0.95, 0},
		{"forty turns beside 150 tools of a server", 40, 1, 1, 32_768, 1024, 0.95, 150},
		{"a model that keeps only long beginnings", 40, 1, 1, 32_768, 4096, 0.95, 0},
		{"turns of thirty steps", 4, 30, 1, 200_000, 1024, 0.95, 0},
		{"turns of thirty steps beside 150 tools of a server", 4, 30, 1, 200_000, 1024, 0.95, 150},
		{"turns of thirty calls at once", 6, 1, 30, 200_000, 1024, 0.8, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			step, calls := 0, 0
			m := &biller{least: c.least, kept: map[[32]byte]time.Time{}, reply: func(last json.RawMessage) llm.Answer {
				if bytes.Contains(last, []byte("Which ships")) {
					step = 0
				}
				if step++; step > c.steps {
					return llmtest.Say(strings.Repeat("The harbour has room for three ships. ", 8))
				}
				var list []llm.Answer
				for range c.at {
					calls++
					list = append(list, llmtest.Use("read", fmt.Sprintf(`{"path":"book%d.txt"}`, calls%60)))
				}
				return llmtest.UseAll(list...)
			}}
			server := httptest.NewServer(m)
			defer server.Close()
			home := t.TempDir()
			doc := fmt.Sprintf("[model]\nbackend = \"anthropic\"\nmodel = \"m\"\nbase_url = %q\napi_key = \"k\"\ncontext_tokens = %d\n[budget]\ntokens_per_day = -1\n", server.URL+"/v1", c.window)
			if c.offered > 0 {
				doc += fmt.Sprintf("[mcp.servers.post]\nurl = %q\n", mcptest.New(t, mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("track_parcel", "Tells where a parcel is.")}, Generated: c.offered - 1, Filler: 200}).URL)
			}
			write(t, home, doc)
			r := start(t, home)
			if c.offered > 0 {
				r.accept("post", "post__track_parcel")
			}
			for i := range 60 {
				if err := os.WriteFile(filepath.Join(home, "workspace", fmt.Sprintf("book%d.txt", i)), []byte(book), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.turns {
				if text := r.say(fmt.Sprintf("Which ships fit into harbour %d?", i)); !strings.HasPrefix(text, "The harbour") {
					t.Fatalf("turn %d: %q", i, text)
				}
			}
			compactions := r.compactions(home)
			m.mu.Lock()
			defer m.mu.Unlock()
			share := float64(m.sum.Cached) / float64(m.sum.Input)
			t.Logf("%d requests, the first of %d tokens: %.1f %% of the rest read from the cache, %.1f %% written to it; %d breaks, %d compactions",
				m.requests, m.first.Input, 100*share, 100*float64(m.sum.Written)/float64(m.sum.Input), m.breaks, compactions)
			if share < c.share || m.breaks > compactions || len(m.wrong) > 0 {
				t.Errorf("%.3f of the input was cached, %d breaks, %d compactions; %q", share, m.breaks, compactions, m.wrong)
			}
		})
	}
}
