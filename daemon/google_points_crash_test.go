//go:build hobtest && unix

package daemon_test

import (
	"strings"
	"testing"

	"hob/daemon/account/googletest"
	"hob/daemon/event"
)

// Killed between the steps of a mail, hob goes on with the step that its journal names: a draft that is there is sent, one that is gone was sent. A draft
// whose id was not committed stays unsent.
func TestMailPoints(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]struct {
		drafts int
		says   string
	}{
		"gmail.drafted":   {1, "sent from anna@example.org to anna@example.org: Note"},
		"gmail.committed": {0, "sent from anna@example.org to anna@example.org: Note"},
		"gmail.sent":      {0, "it was sent before hob was interrupted, and not again"},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			g := googletest.NewServer()
			t.Cleanup(g.Close)
			r, _ := listen(t, "", clerk, inPlaceOfGoogle(g))
			r.withGoogle(g)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			child := mailChild(t, r.home, g.URL)
			child.Env = append(child.Env, "HOB_FAIL="+point)
			out, err := child.CombinedOutput()
			killed(t, err, out)
			r = start(t, r.home, inPlaceOfGoogle(g))
			text := r.wait(1, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, 1)
			if n, _, drafts := g.Sent(); n != 1 || drafts != want.drafts || !strings.Contains(text, want.says) {
				t.Errorf("%d mails, %d drafts; the turn said %s", n, drafts, text)
			}
		})
	}
}
