package channels_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
)

func TestPumpKeepsOrderAndRetries(t *testing.T) {
	story(t, []string{"plain", "later", "ok", "plain"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", "one")
		r.say("plain:me", "two")
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "one", "two")
		want(t, "states", r.states(), "done", "done")
		if rows := r.outbox.Rows(); rows[0].Parts[0].RemoteID != "id" || rows[0].Parts[0].Attempts != 3 {
			t.Errorf("first part: %+v", rows[0].Parts[0])
		}
		if len(r.sent) != 5 || r.sent[0] == nil || r.sent[4] != nil {
			t.Errorf("reported %v", r.sent)
		}
	})
}

func TestPumpSplits(t *testing.T) {
	story(t, []string{"ok", "plain"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", words(120))
		r.say("plain:me", "next")
		r.live(t, time.Hour)
		got := r.bodies()
		if len(got) != 4 || got[3] != "next" || strings.Join(strings.Fields(strings.Join(got[:3], " ")), " ") != words(120) {
			t.Errorf("arrived %q", got)
		}
	})
}

// words returns n words.
func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

// TestPumpMarksOutsideOfCode: marks are outside of a construct at the end of a text.
func TestPumpMarksOutsideOfCode(t *testing.T) {
	story(t, []string{"kept"}, func(t *testing.T, r *pumpHarness) {
		r.mouth.form = markup.Telegram()
		r.say("plain:me", "```\nrm x\n```")
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "<pre>rm x</pre>", "<pre>rm x</pre>\n\n(may be a repeat)")
	})
}

func TestPumpWorksSideBySide(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.mouth.delay = time.Second
		for i := range 20 {
			r.say(event.Address(fmt.Sprintf("plain:%d", i)), "hello")
			r.say(event.Address(fmt.Sprintf("plain:%d", i)), "again")
		}
		r.live(t, time.Hour)
		if r.mouth.peak != 8 || len(r.mouth.got) != 40 {
			t.Errorf("%d at once, %d arrived", r.mouth.peak, len(r.mouth.got))
		}
	})
}

func TestPumpWaitsForNotBefore(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		start := time.Now()
		r.outbox.Queue(event.Out{Key: "later", To: "plain:me", Body: "quiet hours", NotBefore: start.Add(8 * time.Hour)})
		r.say("plain:me", "urgent")
		r.live(t, 24*time.Hour)
		want(t, "arrived", r.bodies(), "urgent", "quiet hours")
	})
}

func TestPumpTellsOfWhatIsDead(t *testing.T) {
	story(t, []string{"dead"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", "one")
		r.say("plain:me", "two")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done", "done")
		rows := r.outbox.Rows()
		if n := rows[2]; n.To != "keyed:me" || n.Cause.Kind != event.ByNotice || !strings.Contains(n.Body, "no such chat") {
			t.Errorf("notice %+v", n.Out)
		}
	})
}

func TestPumpDoesNotChaseItsOwnNotices(t *testing.T) {
	story(t, []string{"dead", "dead", "dead", "dead"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", "one")
		r.live(t, time.Hour)
		rows := r.outbox.Rows()
		want(t, "states", r.states(), "dead", "dead", "done")
		if rows[1].To != "keyed:me" || rows[2].To != event.CLI {
			t.Errorf("notices to %s and %s", rows[1].To, rows[2].To)
		}
	})
}

func TestPumpUnknownChannel(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.say("pigeon:roof", "coo")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done")
		if n := r.outbox.Rows()[1]; !strings.Contains(n.Body, `there is no channel "pigeon"; add a section [channels.pigeon] to the configuration; hob outbox retry 1 sends it then`) {
			t.Errorf("notice %q", n.Body)
		}
	})
}

func TestPumpWaitsForAChannelThatIsAway(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.away["plain"] = errors.New("the section has a mistake")
		r.say("plain:me", "patience")
		r.say("keyed:me", "meanwhile")
		time.AfterFunc(3*time.Minute, func() { r.mouth.mu.Lock(); r.away["plain"] = nil; r.mouth.mu.Unlock() })
		r.live(t, time.Hour)
		want(t, "arrived", r.bodies(), "meanwhile", "patience")
	})
}

// While a server cannot be reached, the commits of a try every quarter of a minute would be for nothing. The message goes out as soon as it can.
func TestPumpWaitsForAServer(t *testing.T) {
	story(t, slices.Repeat([]string{"plain"}, 20), func(t *testing.T, r *pumpHarness) {
		r.unreachable["plain"] = true
		r.say("plain:me", "patience")
		r.say("plain:me", "and order")
		var tries int
		time.AfterFunc(10*time.Minute-time.Second, func() {
			r.mouth.mu.Lock()
			defer r.mouth.mu.Unlock()
			tries = r.mouth.calls
			r.mouth.script, r.unreachable["plain"] = nil, false
			r.outbox.RetryNow("plain")
		})
		began := time.Now()
		var at time.Duration
		time.AfterFunc(10*time.Minute, func() { at = time.Since(began); want(t, "arrived at once", r.bodies(), "patience", "and order") })
		r.live(t, time.Hour)
		if tries < 5 || tries > 8 || at == 0 {
			t.Errorf("%d tries in 10 minutes, want five and one or two later", tries)
		}
	})
}

func TestPumpExpires(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.mouth.stuck = "plain:other"
		start := time.Now()
		r.say("plain:other", "for somebody")
		r.live(t, 2*time.Hour)
		if took := time.Since(start); took < time.Hour || took > 62*time.Minute {
			t.Errorf("given up after %s, want one hour", took)
		}
		rows := r.outbox.Rows()
		if rows[0].State != "expired" || len(rows) < 2 || !strings.Contains(rows[1].Body, "not delivered in time") {
			t.Errorf("states %v: the owner must be told", r.states())
		}
	})
}

func TestPumpKeepsTheOwnersMessagesForSevenDays(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.mouth.stuck = "plain:me"
		r.say("plain:me", "for you")
		r.live(t, 6*24*time.Hour)
		want(t, "states after six days", r.states(), "ready")
		r.live(t, 2*24*time.Hour)
		want(t, "states after eight days", r.states(), "expired", "done")
	})
}

func TestPumpMarksWhatIsLate(t *testing.T) {
	for _, tc := range []struct {
		to    event.Address
		stuck time.Duration
		want  string
	}{
		{"plain:me", 13 * time.Minute / 2, "one"},
		{"plain:me", 16 * time.Minute, "one\n\n(late: from 2000-01-01 00:00)"},
		{"plain:other", 16 * time.Minute, "one"},
	} {
		story(t, nil, func(t *testing.T, r *pumpHarness) {
			r.mouth.stuck = tc.to
			r.say(tc.to, "one")
			time.AfterFunc(tc.stuck, func() { r.mouth.mu.Lock(); r.mouth.stuck = ""; r.mouth.mu.Unlock() })
			r.live(t, 50*time.Minute)
			want(t, fmt.Sprint(tc.to, tc.stuck), r.bodies(), tc.want)
		})
	}
}

func TestPumpUnsure(t *testing.T) {
	for _, tc := range []struct {
		to     event.Address
		script []string
		want   []string
		state  string
		asked  int
	}{
		{"plain:me", []string{"kept"}, []string{"x", "x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", []string{"lost"}, []string{"x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", []string{"panic"}, []string{"x", "x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", []string{"lost", "lost"}, []string{"x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", slices.Repeat([]string{"lost"}, 7), []string{"x\n\n(late: from 2000-01-01 00:00)\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", slices.Repeat([]string{"lost"}, 8), nil, "dead", 0},
		{"plain:me", []string{"lost", "plain"}, []string{"x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", []string{"crash-after"}, []string{"x", "x\n\n(may be a repeat)"}, "done", 0},
		{"plain:me", []string{"crash-after", "crash-before"}, []string{"x", "x\n\n(may be a repeat)"}, "done", 0},
		{"plain:other", []string{"lost"}, nil, "held", 1},
		{"plain:other", []string{"crash-after"}, []string{"x"}, "held", 1},
		{"keyed:other", []string{"kept"}, []string{"x", "x"}, "done", 0},
		{"keyed:other", []string{"crash-after"}, []string{"x", "x"}, "done", 0},
		{"finder:other", []string{"kept"}, []string{"x"}, "done", 0},
		{"finder:other", []string{"lost"}, []string{"x"}, "done", 0},
		{"blind:me", []string{"kept"}, []string{"x", "x\n\n(may be a repeat)"}, "done", 0},
		{"blind:me", []string{"crash-before"}, []string{"x\n\n(may be a repeat)"}, "done", 0},
		{"blind:other", []string{"kept"}, []string{"x"}, "held", 1},
		{"finder:me", []string{"crash-after"}, []string{"x"}, "done", 0},
		{"finder:me", []string{"crash-before", "plain", "crash-before"}, []string{"x"}, "done", 0},
	} {
		story(t, tc.script, func(t *testing.T, r *pumpHarness) {
			r.say(tc.to, "x")
			r.live(t, 24*time.Hour)
			name := fmt.Sprintf("%s %v", tc.to, tc.script)
			r.arrivedAt(t, tc.to, tc.want...)
			if row := r.outbox.Rows()[0]; row.State != tc.state || len(r.outbox.Asked()) != tc.asked {
				t.Errorf("%s: %s, asked %v; want %s, %d", name, row.State, r.outbox.Asked(), tc.state, tc.asked)
			}
		})
	}
}

// A look-up without an answer is repeated like a send: soon at first, then every few minutes; nothing is sent
// before.
func TestPumpLooksWithBackoff(t *testing.T) {
	story(t, []string{"kept"}, func(t *testing.T, r *pumpHarness) {
		r.say("shut:me", "x")
		r.live(t, 24*time.Hour)
		want(t, "bodies", r.bodies(), "x")
		looks := r.mouth.looks
		if n := len(looks); n < 24*60/5 || n > 24*60 {
			t.Fatalf("looked %d times in a day", n)
		}
		if first := looks[1].Sub(looks[0]); first > 2*time.Second {
			t.Errorf("looked again after %s, want it soon", first)
		}
		if last := looks[len(looks)-1].Sub(looks[len(looks)-2]); last < 2*time.Minute || last > 5*time.Minute+time.Second {
			t.Errorf("after a day the next look came after %s, want some minutes", last)
		}
	})
}

func TestPumpHeldRowHoldsNobodyUp(t *testing.T) {
	story(t, []string{"lost"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:other", "one")
		r.say("plain:other", "two")
		r.live(t, time.Hour)
		r.arrivedAt(t, "plain:other", "two")
		r.arrivedAt(t, "keyed:me", "A message to plain:other may or may not have arrived: “one”\nSend it again, or drop it?")
		r.outbox.Answer(1, true)
		r.live(t, time.Hour)
		r.arrivedAt(t, "plain:other", "two", "one")
		want(t, "states", r.states(), "done", "done", "done")
	})
}

// C1: after an uncertain try nothing is sent until the platform has answered something else: neither a repeat
// nor another message to anybody.
func TestPumpProbesBeforeARepeat(t *testing.T) {
	story(t, []string{"kept"}, func(t *testing.T, r *pumpHarness) {
		r.mouth.mute = time.Now().Add(30 * time.Minute)
		r.say("probed:me", "text 0")
		r.say("probed:me", "text 1")
		time.AfterFunc(5*time.Second, func() { r.say("probed:other", "text 2") })
		r.live(t, 29*time.Minute)
		want(t, "arrived while it is mute", r.bodies(), "text 0")
		if n := r.mouth.probes; n < 20 || n > 200 {
			t.Errorf("asked %d times in half an hour", n)
		}
		r.live(t, 10*time.Minute)
		const mark = "\n\n(late: from 2000-01-01 00:00)"
		r.arrivedAt(t, "probed:me", "text 0", "text 0"+mark+"\n\n(may be a repeat)", "text 1"+mark)
		r.arrivedAt(t, "probed:other", "text 2")
		want(t, "questions", r.outbox.Asked())
	})
}

// C1: hob's questions and notices never lead to questions. A question goes to another channel of the owner;
// without one it waits for the broken channel.
func TestPumpNeverAsksAboutItsOwn(t *testing.T) {
	story(t, []string{"lost", "lost", "lost"}, func(t *testing.T, r *pumpHarness) {
		r.owner = []event.Address{"plain:me"}
		r.say("plain:other", "one")
		r.live(t, 24*time.Hour)
		question := "A message to plain:other may or may not have arrived: “one”\nSend it again, or drop it?\n\n(may be a repeat)"
		want(t, "arrived", r.bodies(), question)
		want(t, "states", r.states(), "held", "done")
	})
}

func TestPumpJoinsWhatIsUnsureAfterARestart(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		killed(t, r, "plain", 7)
		r.live(t, time.Hour)
		want(t, "states", r.states(), "done", "done", "done", "done", "done", "joined", "joined", "done")
		digest := r.outbox.Rows()[7]
		if digest.To != "plain:0" || !strings.Contains(digest.Body, "- to plain:5: “text 5”\n- to plain:6: “text 6”") {
			t.Errorf("digest %+v", digest.Out)
		}
		if r.marked() != 5 || len(r.bodies()) != 5+len(digest.Parts) {
			t.Errorf("%d marked, %d arrived", r.marked(), len(r.bodies()))
		}
	})
}

func TestPumpJoinsWhatCannotBeToldEither(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		killed(t, r, "blind", 7)
		r.live(t, time.Hour)
		joined := 0
		for _, s := range r.states() {
			if s == "joined" {
				joined++
			}
		}
		if r.marked() != 5 || joined != 2 {
			t.Errorf("%d marked, states %v", r.marked(), r.states())
		}
	})
}

func TestPumpLeavesRoomForMarks(t *testing.T) {
	text := "**Bold " + strings.Repeat("and _very_ bold ", 30) + "**\n\n```go\n" + strings.Repeat("if a < b { return }\n", 30) + "```\n"
	for _, form := range []markup.Form{
		limited(markup.Plain(), leastLimit), limited(markup.Telegram(), leastLimit), limited(markup.Slack(), leastLimit),
		limited(markup.Discord(), leastLimit), limited(markup.Signal(), leastLimit), markup.IRC(),
	} {
		story(t, nil, func(t *testing.T, r *pumpHarness) {
			r.mouth.form = form
			for range 20 {
				r.mouth.script = append(r.mouth.script, "kept", "ok") // each part may have arrived
			}
			r.mouth.stuck = "plain:me"
			time.AfterFunc(time.Hour, func() { r.mouth.mu.Lock(); r.mouth.stuck = ""; r.mouth.mu.Unlock() })
			r.say("plain:me", text)
			r.live(t, 24*time.Hour)
			if n := len(r.bodies()); n < 6 || r.marked() != n/2 || !strings.Contains(r.bodies()[1], "(late: from 2000-01-01 00:00)") {
				t.Errorf("%s: %d of %d marked, the first: %q", form.Name, r.marked(), n, r.bodies()[1])
			}
			for _, b := range r.bodies() {
				if size := form.Size(markup.Piece{Text: b}); size > form.Limit {
					t.Errorf("%s: a part of %d, limit %d: %q", form.Name, size, form.Limit, b)
				}
			}
		})
	}
}

func TestPumpOutlivesAStoreThatFails(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		for n := 1; n < 6; n++ {
			r.say("plain:me", fmt.Sprint(n))
			r.outbox.FailNext(n)
			r.live(t, time.Hour)
		}
		start := time.Now()
		r.say("plain:me", "6")
		r.outbox.FailNext(30)
		r.live(t, time.Hour)
		if took := r.outbox.Rows()[5].Parts[0].Tried.Sub(start); took < 29*time.Second {
			t.Errorf("30 failures in %s: the store is hammered", took)
		}
		want(t, "arrived", r.bodies(), "1", "2", "3", "4", "5", "6")
		want(t, "states", r.states(), "done", "done", "done", "done", "done", "done")
	})
}

func TestPumpDoesNotWorkOnRowsThatHaveChanged(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.slow = 10 * time.Millisecond
		for i := range 6 { // workers of different lengths, so that one ends while the outbox is read for another
			a := event.Address(fmt.Sprintf("plain:%d", i))
			r.mouth.slow = map[event.Address]time.Duration{"plain:1": 5 * time.Millisecond, "plain:2": 12 * time.Millisecond, "plain:3": 27 * time.Millisecond}
			r.say(a, "one")
			r.say(a, "two")
		}
		r.live(t, time.Hour)
		if r.stale != 0 || len(r.bodies()) != 12 {
			t.Errorf("%d times too late, %d arrived", r.stale, len(r.bodies()))
		}
	})
}

func TestPumpDropsWhatIsDropped(t *testing.T) {
	story(t, []string{"plain"}, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", "never mind")
		time.AfterFunc(100*time.Millisecond, func() { r.outbox.Answer(1, false) })
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead")
		want(t, "arrived", r.bodies())
	})
}

func TestPumpSaysNothingWithoutText(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", " \n")
		r.say("plain:me", "x")
		r.live(t, time.Hour)
		want(t, "states", r.states(), "dead", "done")
	})
}

func TestPumpLetsASendFinishAtShutdown(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.mouth.delay = 5 * time.Second
		r.say("plain:me", words(100))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.process(ctx, t)
		if p := r.outbox.Rows()[0].Parts; p[0].State != "sent" || p[1].State != "ready" {
			t.Errorf("parts %+v", p)
		}
	})
}

// A delivery that a look-up finds proves that the channel works. A look-up that finds nothing, or fails,
// proves nothing.
func TestPumpReportsWhatWasFound(t *testing.T) {
	for to, reported := range map[event.Address]string{"finder:me": "[%s <nil>]", "blind:me": "[%s <nil>]"} {
		story(t, []string{"kept", "ok"}, func(t *testing.T, r *pumpHarness) {
			r.say(to, "hello")
			r.live(t, time.Hour)
			if got, want := fmt.Sprint(r.sent), fmt.Sprintf(reported, errLost); got != want {
				t.Errorf("%s: %s, want %s", to, got, want)
			}
		})
	}
	story(t, []string{"kept"}, func(t *testing.T, r *pumpHarness) {
		r.say("shut:me", "hello")
		r.live(t, time.Hour)
		want(t, "reported", r.sent, errLost)
	})
}

// N26: an answer that was overtaken refers to its message: the channel does it, or the first part begins with a quotation. Other answers have none.
func TestPumpQuotesWhatIsAnswered(t *testing.T) {
	story(t, nil, func(t *testing.T, r *pumpHarness) {
		r.say("plain:me", "follows")
		r.live(t, time.Hour)
		r.overtaken = "“buy milk”"
		r.say("plain:me", words(120))
		r.say("replier:me", "here")
		r.live(t, time.Hour)
		got := map[string]string{}
		for _, a := range r.mouth.got {
			got[fmt.Sprintf("%s %d.%d %v", a.to, a.outbox, a.part, a.overtaken)] = a.body[:min(len(a.body), 22)]
		}
		quoted := markup.Plain().Render("> “buy milk”\n\nword word").Text
		want(t, "arrived", []string{got["plain:me 1.0 false"], got["plain:me 2.0 true"], got["plain:me 2.1 true"][:4], got["replier:me 3.0 true"]}, "follows", quoted[:22], "word", "here")
	})
}
