//go:build linux

package crashtest_test

import (
	"fmt"
	"testing"

	"hob/channels"
)

// TestEditsUnderKills: while hob is down, the owner presses two buttons below one question, edits a message twice, deletes one and sends two within the debounce
// time, and a friend sends files. hob is then killed at any point of receiving them. Each file is there once. The model reads an edited message in its last version
// and no deleted one. The first button is the answer, and the two messages are one turn.
func TestEditsUnderKills(t *testing.T) {
	t.Parallel()
	bin := binary(t, tested)
	points := []string{"artifact.written:2", "inbound.received:2", "inbound.committed", "inbound.committed:2", "question.answered", "turn.claimed"}
	if *kills >= thorough {
		points = append(points, "artifact.written", "inbound.received", "inbound.received:3", "inbound.received:4", "inbound.committed:3", "inbound.committed:4", "turn.claimed:2", "turn.claimed:3", "spend.reserved")
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := newHarness(t, options{bin: bin, chats: []string{"telegram", "matrix"}})
			r.connectServers()
			r.editMessages()
			r.dieAt(point)
			r.up()
			if err := r.settle(); err != nil {
				t.Fatal(err)
			}
			r.stop()
			sum, broken := r.check()
			for _, b := range broken {
				t.Error(b)
			}
			for class, want := range map[channels.Repeats]serverCounts{
				channels.Marked: {filesIn: 1, edits: 2, inPlace: 2, taps: 2, tapsKept: 1, bursts: 1, burstsKept: 1},
				channels.ByKey:  {filesIn: 1, edits: 2, inPlace: 2, deleted: 1, inTime: 1, bursts: 1, burstsKept: 1},
			} {
				s := sum.classes[class]
				if got := (serverCounts{
					filesIn: s.filesIn, edits: s.edits, inPlace: s.inPlace, deleted: s.deleted, inTime: s.inTime, taps: s.taps, tapsKept: s.tapsKept, bursts: s.bursts, burstsKept: s.burstsKept,
				}); got != want {
					t.Errorf("%s: it came to %+v, want %+v", class, got, want)
				}
			}
		})
	}
}

// editMessages edits and deletes messages on the chat servers while hob is down, after it has asked a question.
func (r *harness) editMessages() {
	r.t.Helper()
	asks := r.chats.venues[0]
	r.speak(asks, owner, "please do ask-1000")
	r.up()
	if !until(settleTime, func() bool { return len(asks.buttons()) == 2 }) {
		r.t.Fatalf("hob asks nothing\n%s", r.proc.said)
	}
	r.kill()
	for _, b := range asks.buttons() {
		r.pressButton(asks, codeOf(b), b)
	}
	for i, v := range r.chats.venues {
		text := func(n int) string { return fmt.Sprintf("please do plain-%d", 10*(i+1)+n) }
		u := r.speak(v, owner, text(0))
		r.edit(u, text(1))
		r.edit(u, text(2))
		u.unread = true
		if v.deletes != nil {
			gone := r.speak(v, owner, text(3))
			r.edit(gone, text(7))
			r.remove(gone)
			gone.unread = true
		}
		r.sendFile(v, text(4), "sheet-"+v.name+".txt", 50_000)
		r.sayPair(v, text(5), text(6))
	}
}
