package channels_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hob/channels/channelstest"
	"hob/daemon/event"
)

// TestPumpProperties sends random messages through random failures and crashes, and checks the result.
func TestPumpProperties(t *testing.T) {
	all := []event.Address{"plain:me", "keyed:me", "finder:me", "plain:other", "keyed:other", "finder:other"}
	addresses := rapid.SampledFrom(all)
	outcomes := rapid.SampledFrom([]string{"ok", "ok", "plain", "later", "lost", "kept", "dead", "panic", "crash-before", "crash-after"})
	rapid.Check(t, func(rt *rapid.T) {
		var to []event.Address
		var sizes []int
		for range rapid.IntRange(1, 10).Draw(rt, "messages") {
			to = append(to, addresses.Draw(rt, "to"))
			sizes = append(sizes, rapid.IntRange(1, 150).Draw(rt, "words"))
		}
		scripts := map[event.Address][]string{}
		slow := map[event.Address]time.Duration{} // so that nothing happens at the same instant in two workers
		for i, a := range all {
			scripts[a] = rapid.SliceOfN(outcomes, 0, 12).Draw(rt, "script")
			slow[a] = time.Duration(i+1) * 7 * time.Millisecond
		}
		var faults []string
		synctest.Test(t, func(t *testing.T) {
			r := newPumpHarness()
			r.mouth.each, r.mouth.slow = scripts, slow
			for i := range to {
				r.say(to[i], fmt.Sprintf("%d: %s", i, words(sizes[i])))
			}
			r.live(t, 9*24*time.Hour)
			faults = audit(r)
		})
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// audit lists the faults at the end of a run.
func audit(r *pumpHarness) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	count := map[[2]int64]int{}
	last := map[event.Address][2]int64{}
	for _, a := range r.mouth.got {
		at := [2]int64{a.outbox, int64(a.part)}
		if before := last[a.to]; before[0] > at[0] || before[0] == at[0] && before[1] > at[1] {
			bad("%s got %v behind %v", a.to, at, before)
		}
		last[a.to] = at
		count[at]++
		marked := strings.HasSuffix(a.body, "(may be a repeat)")
		keyed := strings.HasPrefix(string(a.to), "keyed:")
		if count[at] > 1 && !marked && !keyed {
			bad("%v arrived twice without a mark: %q", at, a.body)
		}
		if marked && !a.unsureWas && r.mouth.fell == 0 { // a crash in one worker interrupts the others
			bad("%v is marked without need: %q", at, a.body)
		}
		if count[at] > 1 && strings.HasPrefix(string(a.to), "finder:") {
			bad("%v arrived twice although it could be looked up", at)
		}
		if count[at] > 1 && a.to == "plain:other" {
			bad("%v was sent again to somebody else", at)
		}
	}
	asked := map[int64]bool{}
	for _, id := range r.outbox.Asked() {
		asked[id] = true
	}
	made := map[event.CauseKind]int{}
	for _, row := range r.outbox.Rows() {
		made[row.Cause.Kind]++
		if about := row.Cause.ID; row.Cause.Kind == event.ByQuestion && r.outbox.Rows()[r.outbox.Asked()[about-1]-1].Cause.Kind != event.ByTurn {
			bad("row %d is a question about a question or a notice", row.ID)
		}
		auditRow(row, r, count, asked, bad)
	}
	// C1: a row makes one question or one notice. A refused notice makes one more, at the terminal. A refused question is told like any row.
	if n := made[event.ByQuestion] + made[event.ByNotice]; n > 2*made[event.ByTurn]+made[event.ByQuestion] {
		bad("%d messages, with %d questions, have made %d others", made[event.ByTurn], made[event.ByQuestion], n)
	}
	return faults
}

func auditRow(row channelstest.OutRow, r *pumpHarness, count map[[2]int64]int, asked map[int64]bool, bad func(string, ...any)) {
	switch row.State {
	case "done":
		for _, p := range row.Parts {
			n := count[[2]int64{row.ID, int64(p.Part)}]
			if n == 0 {
				bad("row %d is done and its part %d never arrived", row.ID, p.Part)
			}
			if n > 1+r.mouth.unsure[p.Nonce]+r.mouth.fell {
				bad("row %d part %d arrived %d times for %d doubts", row.ID, p.Part, n, r.mouth.unsure[p.Nonce])
			}
		}
	case "held":
		if !asked[row.ID] || !strings.HasSuffix(string(row.To), ":other") || row.Cause.Kind != event.ByTurn {
			bad("row %d to %s, a %s, is held; asked: %v", row.ID, row.To, row.Cause.Kind, asked[row.ID])
		}
	case "dead", "expired", "joined":
		told := false
		for _, n := range r.outbox.Rows() {
			told = told || strings.HasPrefix(n.Key, fmt.Sprintf("outbox:%d:", row.ID))
		}
		if !told {
			bad("row %d is %s and the owner was not told", row.ID, row.State)
		}
	default:
		bad("row %d is still %s: %s", row.ID, row.State, row.Reason)
	}
}
