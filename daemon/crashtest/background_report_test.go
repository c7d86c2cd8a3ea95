//go:build linux

package crashtest_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLateReport: after a night in which forty jobs came due, hob dies between the commit of their slots and the message about them. The
// message comes at the next start, once, and the table of fires has the outcome of every slot.
func TestLateReport(t *testing.T) {
	t.Parallel()
	r := newHarness(t, options{bin: binary(t, tested)})
	r.up()
	c, err := r.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		in := map[string]any{"action": "add", "name": fmt.Sprintf("job-%02d", i), "schedule": "every 24h", "prompt": "say: nothing", "deliver": "none", "missed": []string{"once", "skip"}[i%2]}
		if o, err := r.cron(t.Context(), c, in); err != nil || !o.Success {
			t.Fatalf("%v %+v", err, o)
		}
	}
	r.stop()
	onStopped(t, r.home, `UPDATE triggers SET due = due - 27 * 3600 * 1000000, body = json_set(body, '$.created', strftime('%Y-%m-%dT%H:%M:%SZ', json_extract(body, '$.created'), '-27 hours')) WHERE kind = 'job'`)
	if !r.dies("HOB_FAIL=fire.after") {
		t.Fatal("hob did not die after the fires")
	}
	b := r.readRecords()
	for _, wrong := range r.always(b) {
		t.Error(wrong)
	}
	if n := b.number("SELECT count(*) FROM fires WHERE told = 1"); n != 40 || r.inboxCount("While hob was not running") != 0 {
		t.Fatalf("%d slots are to be told of: the kill did not come between the commit and the message", n)
	}
	for range 2 {
		r.up()
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
		r.stop()
		if n := r.inboxCount("While hob was not running"); n != 1 {
			t.Errorf("the owner was told %d times of what was missed", n)
		}
	}
	for _, m := range r.world.ntfy.Received() {
		if text, ok := strings.CutPrefix(m.Message, "While hob was not running ("); ok && (strings.Count(text, " · ") != 20 || !strings.HasSuffix(text, " · and 20 more") ||
			!strings.Contains(text, "job-00 ran 3 h") || !strings.Contains(text, "job-01: 1 run missed")) {
			t.Errorf("the owner was told: %s", m.Message)
		}
	}
	b = r.readRecords()
	for what, n := range map[string]int64{"outcome = 'ran' AND reason LIKE 'caught up 3 h%'": 20, "outcome = 'missed' AND reason LIKE '3 h%'": 20, "told = 2 AND state = 'done'": 40, "1": 40} {
		if got := b.number("SELECT count(*) FROM fires WHERE " + what); got != n {
			t.Errorf("%d slots with %s, want %d", got, what, n)
		}
	}
}
