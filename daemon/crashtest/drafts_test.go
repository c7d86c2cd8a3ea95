//go:build linux

package crashtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// grown is the answer that is killed while it grows.
const grown = "one two three four five six seven eight nine ten eleven twelve thirteen"

// slowModel speaks Chat Completions, a word every three quarters of a second.
func slowModel(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // hob was killed
		}
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(750 * time.Millisecond)
		defer tick.Stop()
		for _, piece := range strings.SplitAfter(llmtest.Streamed(llm.Answer{Text: grown}).Wire(len(body)), "\n\n") {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
			if _, err := io.WriteString(w, piece); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestDraftsUnderKills lets an answer grow over the real wire of a platform, kills hob at each point that it passes on the way, and wants one message: with
// a key or a look back it is always one; with neither a first post that was cut off may stand beside it once, and then the answer is marked.
func TestDraftsUnderKills(t *testing.T) {
	t.Parallel()
	bin := binary(t, tested)
	for _, place := range []struct {
		name   string
		points []string
	}{
		{"telegram", []string{"sending.written", "draft.edited", "finish.after"}},
		{"matrix", []string{"sending.written", "draft.edited:2"}},
		{"slack", []string{"sending.answered", "draft.replaced"}},
	} {
		points := place.points
		if *kills >= thorough {
			points = []string{"", "draft.opened", "sending.committed", "sending.written", "sending.answered", "sending.sent", "draft.edited", "draft.edited:2", "finish.before", "finish.after", "draft.replaced"}
		}
		for _, point := range points {
			t.Run(place.name+" "+point, func(t *testing.T) {
				t.Parallel()
				r := growing(t, bin, place.name, point)
				r.grows()
			})
		}
	}
}

// growth is one hob whose answer grows.
type growth struct {
	*harness
	*chatServer
	point string
}

func growing(t *testing.T, bin, place, point string) growth {
	v := chatServers(t, []string{place})[0]
	r := &harness{t: t, bin: bin, home: filepath.Join(t.TempDir(), "home")}
	if err := os.MkdirAll(r.home, 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"slow\"\nbase_url = %q\n[owner]\naddresses = [%q]\n[daemon]\nsafe_mode_after = %d\n%s", slowModel(t), v.name+":"+v.owner, never, v.config)
	if err := os.WriteFile(filepath.Join(r.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.proc != nil {
			r.proc.signal(syscall.SIGKILL)
			<-r.proc.gone
		}
	})
	return growth{r, v, point}
}

// grows goes through the whole story.
func (g growth) grows() {
	g.t.Helper()
	g.up("HOB_FAIL=" + g.point)
	g.hears(g.t.Context()) // what was said before is no news everywhere
	g.says(owner, "count")
	if g.point != "" {
		if !g.proc.ended(reachTime) || !g.proc.killed() {
			g.t.Fatalf("hob does not die at %s: it says %+v\n%s", g.point, g.arrived(), g.proc.said)
		}
		g.up()
	}
	if !until(reachTime, g.done) {
		g.t.Fatalf("the answer does not come: %+v\n%s", g.arrived(), g.proc.said)
	}
	g.stop()
	g.judge()
}

// done tells whether all that was to be said has been said.
func (g growth) done() bool {
	c, err := g.dial(g.t.Context())
	if err != nil {
		return false
	}
	rows, err := client.List(g.t.Context(), c, api.Outbox, client.Filter{Limit: 100})
	return err == nil && len(rows) > 0 && rows[0].State == "done"
}

// judge holds what can be read against what was promised.
func (g growth) judge() {
	g.t.Helper()
	came := g.arrived()
	var list []string
	for _, a := range came {
		list = append(list, a.text)
	}
	last := list[len(list)-1]
	marked := last == grown+"\n\n"+mark
	cutOff := g.class == channels.Marked && (g.point == "sending.committed" || g.point == "sending.written" || g.point == "sending.answered")
	if last != grown && !marked || marked != cutOff {
		g.t.Errorf("I5 the answer is %q", last)
	}
	if len(list) > 2 || len(list) == 2 && (!marked || strings.Contains(list[0], mark)) {
		g.t.Errorf("I5 there is more than the answer: %q", list)
	}
	if !came[len(came)-1].grew {
		g.t.Error("the answer was never edited")
	}
	b := g.readRecords()
	for _, broken := range append(b.drafts(), b.none("I3 an answer is not done once", "SELECT t.id, t.state FROM turns t WHERE t.state <> 'done' OR (SELECT count(*) FROM outbox o WHERE o.cause_kind = 'step' AND o.cause_id = t.id AND o.state = 'done') <> 1")...) {
		g.t.Error(broken)
	}
}

// drafts are the rules of answers that are being made, at every instant.
func (b records) drafts() []string {
	return slices.Concat(
		b.none("I4 a draft is not that of a turn", "SELECT o.id, o.key FROM outbox o WHERE o.state = 'draft' AND NOT (o.cause_kind = 'step' AND o.key = 'turn:' || o.cause_id || ':final')"),
		b.none("I3 a turn has ended and its draft is open", "SELECT o.id, o.key FROM outbox o JOIN turns t ON t.id = o.cause_id WHERE o.state = 'draft' AND t.ended > 0"),
		b.none("I5 an answer is two messages", "SELECT o.id, o.address, z.id FROM outbox o JOIN outbox z ON z.key = 'turn:' || o.cause_id || ':final' AND z.address = o.address WHERE o.cause_kind = 'step' AND o.key = 'turn:' || o.cause_id || ':draft' AND o.state <> 'cancelled'"),
		b.none("I5 a message is done and shows a draft", "SELECT o.id, o.key FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.state = 'done' AND d.draft = 1"),
	)
}
