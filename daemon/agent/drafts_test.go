package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/policy"
)

// An answer that takes some seconds is shown while it is made, in one message, and not edited too often.
func TestALongAnswerGrows(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four five six"}}, func(s *draftHarness) {
		s.say("count")
		s.after(2900 * time.Millisecond)
		s.wantWall()
		s.after(2 * time.Second)
		s.wantWall("one")
		s.wantRows("draft one")
		s.after(time.Minute)
		s.wantWall("one two three four five six")
		s.wantRows("done one two three four five six")
		n := s.notes[0]
		if len(n.texts) < 4 || len(n.texts) > 6 { // 15 seconds, one edit in three, and the end
			t.Errorf("it said %q", n.texts)
		}
		for i := 1; i < len(n.edited)-1; i++ { // the last one is the answer itself
			if gap := n.edited[i].Sub(n.edited[i-1]); gap < 3*time.Second {
				t.Errorf("edited again after %s", gap)
			}
		}
	})
}

// Who is no owner any more sees nothing more of an answer that has begun to grow before him.
func TestNothingGrowsForWhoHasLostHisRight(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four five six"}}, func(s *draftHarness) {
		s.say("count")
		s.after(4900 * time.Millisecond)
		s.wantWall("one")
		s.revoked.Store(true)
		s.after(8 * time.Second)
		s.wantWall("one")
		s.wantRows("draft one")
		s.after(time.Minute)
		if n := s.notes[0]; len(n.texts) != 1 || n.texts[0] != "one" {
			t.Errorf("it says %q", n.texts)
		}
		if first := s.outbox()[0]; first.State != "dead" {
			t.Errorf("the answer is %s", first.State)
		}
	})
}

func TestAQuickAnswerIsJustSent(t *testing.T) {
	withDrafts(t, &slowModel{every: time.Second, says: []string{"one two"}}, func(s *draftHarness) {
		s.say("count")
		s.after(time.Minute)
		s.wantWall("one two")
		s.wantRows("done one two")
		if n := s.notes[0]; len(n.texts) != 1 {
			t.Errorf("it said %q", n.texts)
		}
	})
}

// Nothing can be changed on this channel: the answer comes when it is whole.
func TestNoDraftsWhereNothingCanBeEdited(t *testing.T) {
	withDrafts(t, &slowModel{every: 10 * time.Second, says: []string{"one two"}}, func(s *draftHarness) {
		s.say("count")
		s.after(15 * time.Second)
		s.wantRows()
		s.after(time.Minute)
		s.wantWall("one two")
	}, func(s *draftHarness) { s.ch = uneditableChannel{s.fakeChannel} })
}

// Nobody sits and waits for what a job says.
func TestNoDraftsOfJobs(t *testing.T) {
	withDrafts(t, &slowModel{every: 10 * time.Second, says: []string{"one two"}}, func(s *draftHarness) {
		in := ownerSays("count")
		in.Session = "task:1"
		s.post(in)
		s.after(15 * time.Second)
		s.wantRows()
		s.after(time.Minute)
		s.wantRows("done one two")
	})
}

// What a tool does is shown to the owner, and to nobody else.
func TestADraftSaysWhatIsDone(t *testing.T) {
	for name, tt := range map[string]struct {
		in   event.In
		want string
	}{
		"the owner": {ownerSays("go"), "Let me see.\n\n*Working…* (`"},
		"others":    {stranger("go"), "Let me see.\n\n*Working…*"},
	} {
		t.Run(name, func(t *testing.T) {
			withDrafts(t, &slowModel{every: time.Second, says: []string{"Let me see.!reach {}", "All is well."}}, func(s *draftHarness) {
				s.post(tt.in)
				s.after(9 * time.Second)
				if got := s.hangs(); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) || name == "others" && got[0] != tt.want {
					t.Errorf("on the wall: %q, want %q", got, tt.want)
				}
			}, func(s *draftHarness) { s.waits = 8 * time.Second })
		})
	}
}

// A question has its own message while the draft is open; the answer goes on in the draft.
func TestAQuestionGoesPastTheDraft(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"I will look there. !shell {}", "That is done now, all of it."}}, func(s *draftHarness) {
		s.say("go")
		s.after(30 * time.Second)
		got := s.hangs()
		if len(got) != 2 || got[0] != "I will look there.\n\n*Waiting for an answer to a question.*" || !strings.Contains(got[1], "/approve") {
			t.Fatalf("on the wall: %q", got)
		}
		_, code, _ := strings.Cut(got[1], "/approve ")
		s.say("/approve " + strings.Fields(code)[0])
		s.after(time.Minute)
		if got := s.hangs(); got[0] != "That is done now, all of it." {
			t.Errorf("on the wall: %q", got)
		}
	}, func(s *draftHarness) { s.mode = policy.ModeAsk })
}

// However a turn ends, its draft does not stay open.
func TestEveryEndClosesTheDraft(t *testing.T) {
	for name, tt := range map[string]struct {
		says, act, want string
		row             string
	}{
		"done":    {"one two three four five", "", "one two three four five", "done"},
		"silence": {"let me think about it: !look {}", "", "I have nothing to add.", "done"},
		"stop":    {"one two three four five six seven eight", "/stop", "Stopped.", "done"},
		"failed":  {"one two three four five six seven eight nine ten eleven twelve", "limit", "I could not finish this: it ran for 15s, the limit of one turn.", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{tt.says, "NO_REPLY"}}, func(s *draftHarness) {
				s.say("go")
				s.after(9 * time.Second)
				if got := s.hangs(); len(got) != 1 || got[0] == tt.want {
					t.Fatalf("on the wall: %q, want a draft", got)
				}
				if strings.HasPrefix(tt.act, "/") {
					s.say(tt.act)
				}
				s.after(time.Minute)
				if got := s.hangs(); got[0] != tt.want {
					t.Errorf("on the wall: %q, want %q", got, tt.want)
				}
				if got := s.outbox()[0]; got.State != tt.row {
					t.Errorf("the row is %s", got.State)
				}
			}, func(s *draftHarness) {
				if tt.act == "limit" {
					s.running = 15 * time.Second
				}
			})
		})
	}
}

// An answer of several parts: the first takes the draft's place, the others follow.
func TestALongTextFollowsItsDraft(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 200))
	withDrafts(t, &slowModel{every: 100 * time.Millisecond, says: []string{words}}, func(s *draftHarness) {
		s.say("go")
		s.after(10 * time.Second)
		if got := s.hangs(); len(got) != 1 {
			t.Fatalf("%d messages while it is made", len(got))
		}
		s.after(time.Minute)
		got := s.hangs()
		if len(got) < 3 || strings.Join(strings.Fields(strings.Join(got, " ")), " ") != words {
			t.Errorf("on the wall: %q", got)
		}
	}, func(s *draftHarness) { s.limit = 400 })
}

// A message that cannot be edited any more stays; the text comes once, as a new one.
func TestATextThatCannotTakeTheDraftsPlace(t *testing.T) {
	for _, ch := range []func(*draftHarness){func(*draftHarness) {}, func(s *draftHarness) { s.ch = s.fakeChannel }} {
		withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four five"}}, func(s *draftHarness) {
			s.say("go")
			s.after(5 * time.Second)
			s.fakeChat.mu.Lock()
			s.edits = []error{fmt.Errorf("too old: %w", channels.ErrPermanent), fmt.Errorf("too old: %w", channels.ErrPermanent), fmt.Errorf("too old: %w", channels.ErrPermanent)}
			s.fakeChat.mu.Unlock()
			s.after(time.Minute)
			s.wantWall("one", "one two three four five")
			s.wantRows("done one two three four five")
			if len(s.edits) != 1 {
				t.Errorf("%d of 3 edits are left: a draft is let alone after the first", len(s.edits))
			}
		}, ch)
	}
}

// An edit that fails is made again, later each time, and the text gets there.
func TestEditsAreTriedAgain(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four five"}}, func(s *draftHarness) {
		s.say("go")
		s.after(5 * time.Second)
		s.fakeChat.mu.Lock()
		s.edits = []error{&channels.RetryAfter{After: 4 * time.Second, Err: errors.New("slowly")}, errors.New("no line"), errors.New("no line"), channels.ErrUnknown}
		s.fakeChat.mu.Unlock()
		s.after(time.Minute)
		s.wantWall("one two three four five")
		s.wantRows("done one two three four five")
	})
}

// When the platform asks to wait, the answer waits too, whether it was the draft or an edit of it that came too soon.
func TestAnAnswerHeedsWhatItsDraftWasTold(t *testing.T) {
	slowly := []error{&channels.RetryAfter{After: 30 * time.Second, Err: errors.New("slowly")}}
	for name, tt := range map[string]struct {
		script func(*draftHarness)
		before []string
	}{
		"a send":  {func(s *draftHarness) { s.sends = slowly }, nil},
		"an edit": {func(s *draftHarness) { s.edits = slowly }, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four"}}, func(s *draftHarness) {
				tt.script(s)
				s.say("go")
				s.after(30 * time.Second)
				s.wantWall(tt.before...)
				s.wantRows("ready one two three four")
				s.after(30 * time.Second)
				s.wantWall("one two three four")
				s.wantRows("done one two three four")
			})
		})
	}
}

// The turn ends while its draft is still being posted: the message is edited when it has arrived.
func TestAnAnswerOvertakesItsDraft(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two"}}, func(s *draftHarness) {
		s.say("go")
		s.after(time.Minute)
		s.wantWall("one two")
		s.wantRows("done one two")
		if n := s.notes[0]; n.texts[0] != "one" {
			t.Errorf("it said %q", n.texts)
		}
	}, func(s *draftHarness) { s.takes = 5 * time.Second })
}

// The turn ends while it is not known whether its draft has arrived: that is found out first.
func TestAnAnswerWaitsForItsLostDraft(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two"}}, func(s *draftHarness) {
		s.sends = []error{fmt.Errorf("%w: %w", channels.ErrUnknown, &channels.RetryAfter{After: 10 * time.Second, Err: errors.New("cut off")})}
		s.say("go")
		s.after(time.Minute)
		s.wantWall("one two")
		s.wantRows("done one two")
	}, func(s *draftHarness) { s.ch = findingChannel{s.fakeChannel} })
}

// An edit that was decided on before the turn ended does not overwrite the answer.
func TestNoEditAfterTheAnswer(t *testing.T) {
	withDrafts(t, &slowModel{every: time.Second, says: []string{"Let me see.!reach {}", "All is well."}}, func(s *draftHarness) {
		s.say("go")
		s.after(time.Minute)
		if got := s.hangs(); len(got) != 1 || got[0] != "All is well." {
			t.Errorf("on the wall: %q", got)
		}
	}, func(s *draftHarness) { s.waits, s.lag = 20*time.Second, 30*time.Second })
}

// A draft that cannot be shown is taken back without a word; the answer is a message of its own.
func TestADraftThatIsNotTaken(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four"}}, func(s *draftHarness) {
		s.sends = []error{fmt.Errorf("no: %w", channels.ErrPermanent)}
		s.say("go")
		s.after(time.Minute)
		s.wantWall("one two three four")
		s.wantRows("cancelled one", "done one two three four")
	})
}

// What the owner drops is shown no further, and what he takes back is the whole answer.
func TestADroppedDraftStops(t *testing.T) {
	for _, early := range []bool{false, true} {
		withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"one two three four"}}, func(s *draftHarness) {
			s.say("go")
			s.after(5 * time.Second)
			id := s.outbox()[0].ID
			s.must(s.harness.store.Outbox.DropOut(context.Background(), id))
			if early {
				s.must(s.harness.store.Outbox.RetryOut(context.Background(), id))
				s.wantRows("draft one")
			}
			s.after(time.Minute)
			if !early {
				s.wantWall("one")
				s.wantRows("cancelled one two three four")
				s.must(s.harness.store.Outbox.RetryOut(context.Background(), id))
				s.after(time.Minute)
			}
			s.wantWall("one two three four")
			s.wantRows("done one two three four")
		})
	}
}

// The answer goes where the last joined message came from; the draft says so.
func TestAnAnswerThatGoesElsewhere(t *testing.T) {
	withDrafts(t, &slowModel{every: 2500 * time.Millisecond, says: []string{"I will have a look. !look {}", "that is all"}}, func(s *draftHarness) {
		s.say("go")
		s.after(5 * time.Second)
		in := ownerSays("and hurry")
		in.ReplyTo = "chat:2"
		s.post(in)
		s.after(time.Minute)
		s.wantWall("I have answered in the chat from which you wrote last.", "that is all")
		if to := s.notes[1].to; to != "chat:2" {
			t.Errorf("answered at %s", to)
		}
	})
}

// Who waits is told how many are ahead; that message becomes his answer, also when the answer is quick.
func TestTheNumberAheadBecomesTheAnswer(t *testing.T) {
	for _, every := range []time.Duration{20 * time.Second, 5 * time.Second} {
		withDrafts(t, &slowModel{every: every, says: []string{"one", "two", "three"}}, func(s *draftHarness) {
			s.say("go")
			for i, who := range []event.Trust{event.Known, event.Public} {
				in := stranger("hello")
				in.Session, in.Trust, in.ReplyTo = fmt.Sprint("other-", i), who, event.Address(fmt.Sprint("chat:", i+7))
				s.post(in)
			}
			s.after(15 * time.Second)
			if every > 15*time.Second {
				s.wantAnywhere("*Working…*", "1 ahead of you.", "2 ahead of you.")
			}
			s.after(3 * time.Minute)
			s.wantAnywhere("one", "two", "three")
		})
	}
}

// Who writes again while his answer grows sees it grow: he is told nothing.
func TestNoNumberForWhatJoins(t *testing.T) {
	withDrafts(t, &slowModel{every: 20 * time.Second, says: []string{"one", "two"}}, func(s *draftHarness) {
		s.say("go")
		s.after(time.Second)
		s.say("and this")
		s.after(15 * time.Second)
		s.wantWall("*Working…*")
	})
}

// While it is quiet nobody is told how many are ahead.
func TestNoNumberWhileItIsQuiet(t *testing.T) {
	withDrafts(t, &slowModel{every: 20 * time.Second, says: []string{"one", "two"}}, func(s *draftHarness) {
		s.say("/quiet 1h")
		s.say("go")
		in := ownerSays("and this")
		in.Session = "other"
		s.post(in)
		s.after(15 * time.Second)
		for _, text := range s.hangs() {
			if strings.Contains(text, "ahead") {
				t.Errorf("it says %q", text)
			}
		}
	})
}

// A message to others can be cancelled while it waits, so no draft of it is shown.
func TestNoDraftWhereMessagesWait(t *testing.T) {
	withDrafts(t, &slowModel{every: 5 * time.Second, says: []string{"one two three"}}, func(s *draftHarness) {
		s.post(stranger("go"))
		s.after(12 * time.Second)
		s.wantRows()
		s.after(time.Minute)
		s.wantWall("one two three")
	}, func(s *draftHarness) { s.hold = 10 * time.Second })
}

// A platform that can neither look up nor deduplicate shows drafts to the owner alone.
func TestNoDraftForOthersOnAPlatformWithoutKeys(t *testing.T) {
	withDrafts(t, &slowModel{every: 5 * time.Second, says: []string{"one two three"}}, func(s *draftHarness) {
		s.post(stranger("go"))
		s.after(12 * time.Second)
		s.wantRows()
		s.after(time.Minute)
		s.wantWall("one two three")
	}, func(s *draftHarness) { s.ch = s.fakeChannel })
}

// classes are what a platform can be, and what a crash in the middle of a draft's first send may leave beside the answer.
var classes = map[string]struct {
	make func(*fakeChannel) channels.Channel
	left string // "": nothing
	mark string
}{
	"key":       {func(b *fakeChannel) channels.Channel { return keyedChannel{b} }, "", ""},
	"read-back": {func(b *fakeChannel) channels.Channel { return findingChannel{b} }, "", ""},
	"neither":   {func(b *fakeChannel) channels.Channel { return b }, "one", "\n\n(may be a repeat)"},
}

const whole = "one two three four five six"

// Wherever hob is killed while an answer grows, the answer is one message: the resumed turn takes up the same draft. Where a send can neither be
// looked up nor be made twice, what may have been posted stays beside it, and the answer says so.
func TestOneMessageWhereverHobIsKilled(t *testing.T) {
	for class, c := range classes {
		for name, tt := range map[string]struct {
			die  func(s *draftHarness, killed func(*[]error, ...error))
			left bool // a message may be left over, where nobody can know better
		}{
			"before the first post": {func(s *draftHarness, kill func(*[]error, ...error)) { kill(&s.sends, errKilled) }, false},
			"in the first post":     {func(s *draftHarness, kill func(*[]error, ...error)) { kill(&s.sends, errArrived) }, true},
			"in an edit":            {func(s *draftHarness, kill func(*[]error, ...error)) { kill(&s.edits, nil, errKilled) }, false},
			"in the last edit":      {func(s *draftHarness, kill func(*[]error, ...error)) { kill(&s.edits, nil, nil, nil, errKilled) }, false},
			"between two edits":     {nil, false},
		} {
			t.Run(class+" "+name, func(t *testing.T) {
				model := func() *slowModel { return &slowModel{every: 2500 * time.Millisecond, says: []string{whole}} }
				withDrafts(t, model(), func(s *draftHarness) {
					dir, killed := "", make(chan struct{})
					s.kill = func() {
						dir = s.snapshot()
						close(killed)
					}
					if tt.die != nil {
						tt.die(s, func(script *[]error, errs ...error) { *script = errs })
					}
					s.say("go")
					if tt.die != nil {
						<-killed
					} else {
						s.after(9 * time.Second)
						dir = s.snapshot()
					}
					s.dies(dir, model())
					s.after(2 * time.Minute)
					if tt.left && c.left != "" {
						s.wantWall(c.left, whole+c.mark)
					} else {
						s.wantWall(whole + map[bool]string{true: c.mark}[name == "before the first post"])
					}
					s.wantRows("done " + whole)
				}, func(s *draftHarness) { s.ch = c.make(s.fakeChannel) })
			})
		}
	}
}
