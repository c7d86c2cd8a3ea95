package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a daemon that answers each message with a script of frames.
type fake struct {
	mu     sync.Mutex
	stored []event.Event
	live   []client.Frame // everything, in order, as one follower sees it
	more   *sync.Cond
	script func(f *fake, row int64, m client.Message)
	acts   []string
	onAct  func(f *fake, what string)
	drop   int // streams that break before they show anything
	down   int // posts that find nobody
	posts  []client.Message
	last   int64 // of a database that was put back: streams begin here at the latest; 0 is no limit
}

func newFake(script func(f *fake, row int64, m client.Message)) *fake {
	f := &fake{script: script}
	f.more = sync.NewCond(&f.mu)
	return f
}

// emit stores an event; its data makes the trip through JSON that it makes in life.
func (f *fake) emit(e event.Event) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Seq = int64(len(f.stored) + 1)
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	var back event.Event
	if err := json.Unmarshal(b, &back); err != nil {
		panic(err)
	}
	f.stored = append(f.stored, back)
	f.live = append(f.live, client.Frame{Event: &back})
	f.more.Broadcast()
	return e.Seq
}

func (f *fake) piece(turn int64, step, offset int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = append(f.live, client.Frame{Piece: &event.Piece{Turn: turn, Step: step, Offset: offset, Text: text}})
	f.more.Broadcast()
}

// prints says what the command of a turn has printed.
func (f *fake) prints(turn int64, output string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = append(f.live, client.Frame{Piece: &event.Piece{Turn: turn, Output: output}})
	f.more.Broadcast()
}

func (f *fake) Post(_ context.Context, m client.Message) (event.Receipt, error) {
	f.posts = append(f.posts, m)
	if f.down > 0 {
		f.down--
		return event.Receipt{}, client.ErrNoDaemon
	}
	if m.Text == "bad" {
		return event.Receipt{}, &client.Problem{Detail: "that is bad", Hint: "say better"}
	}
	row := int64(100 + len(f.stored))
	seq := f.emit(event.Event{Type: "event.accepted", Inbox: row})
	f.script(f, row, m)
	return event.Receipt{Event: seq, Inbox: row}, nil
}

// Call notes what was asked for, as "questions AB12 approve once".
func (f *fake) Call(_ context.Context, route, id string, in, _ any) error {
	what := strings.NewReplacer("POST /v1/", "", "{id}", id, "/", " ").Replace(route)
	switch body := in.(type) {
	case api.Approve:
		what += " " + string(body.Scope)
	case api.Answer:
		what += " " + body.Text
	case api.None:
	default:
		return fmt.Errorf("%s has the body %T", route, in)
	}
	f.mu.Lock()
	f.acts = append(f.acts, what)
	f.mu.Unlock()
	if f.onAct != nil {
		f.onAct(f, what)
	}
	return nil
}

func (f *fake) Follow(ctx context.Context, after int64, stay bool, each func(client.Frame) error) error {
	if f.drop > 0 && stay {
		f.drop--
		return client.ErrStreamEnded
	}
	wake := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.more.Broadcast()
	})
	defer wake()
	if f.last > 0 && after > f.last {
		after = f.last
		if err := each(client.Frame{Start: after}); err != nil {
			return err
		}
	}
	at, seq := 0, int64(0)
	for ctx.Err() == nil {
		f.mu.Lock()
		for at == len(f.live) && stay && ctx.Err() == nil {
			f.more.Wait()
		}
		if at == len(f.live) {
			f.mu.Unlock()
			return ctx.Err()
		}
		frame := f.live[at]
		at++
		f.mu.Unlock()
		if frame.Event != nil {
			seq = frame.Event.Seq
		}
		if seq <= after && frame.Event != nil || frame.Piece != nil && seq < after {
			continue
		}
		if err := each(frame); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// turn is a whole turn that says text.
func turn(f *fake, id, row int64, text string) {
	f.emit(event.Event{Type: "turn.started", Turn: id, Data: map[string]any{"turn": id, "inbox": []int64{row}}})
	f.finish(id, "done", text, "")
}

func (f *fake) finish(id int64, state, text, why string) {
	if text != "" {
		f.emit(event.Event{Type: "message.sent", Data: map[string]any{"outbox": 1, "to": "cli:main", "text": text, "cause": "step", "turn": id}})
	}
	f.emit(event.Event{Type: "turn.finished", Turn: id, Data: map[string]any{"turn": id, "state": state, "text": text, "why": why}})
}

// said runs one message on a terminal (live) or through pipes.
func said(t *testing.T, f *fake, live bool, ask func(context.Context, string) (string, error)) (a console.Answer, out, notes string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	once := console.Once{API: f, Out: &console.Pipes{Out: &o, Err: &e, Live: live, Screen: console.Look{UTF8: true}}, Cursor: console.Cursor(t.TempDir() + "/c"), Zone: time.UTC, Ask: ask}
	a, err = once.Say(t.Context(), client.Message{Text: "hi"})
	return a, o.String(), e.String(), err
}

func TestAnswers(t *testing.T) {
	start := func(f *fake, row int64) {
		f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
	}
	for _, c := range []struct {
		name   string
		script func(f *fake, row int64, m client.Message)
		state  string
		text   string
		out    string // on a terminal
		notes  string
	}{
		{"whole", func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "hello") }, "done", "hello", "hello\n", ""},
		{"streamed", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "hel")
			f.piece(5, 1, 3, "lo")
			f.finish(5, "done", "hello", "")
		}, "done", "hello", "hello\n", ""},
		{"streamed in part", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "hel")
			f.finish(5, "done", "hello", "")
		}, "done", "hello", "hello\n", ""},
		{"a piece lost", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "he")
			f.piece(5, 1, 4, "o wor")
			f.piece(5, 1, 9, "ld")
			f.finish(5, "done", "hello world", "")
		}, "done", "hello world", "hello world\n", ""},
		{"a piece twice", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "hel")
			f.piece(5, 1, 0, "hel")
			f.piece(5, 1, 0, "hello")
			f.piece(5, 1, 0, "hel")
			f.piece(5, 1, 2, "XYZ!")
			f.finish(5, "done", "hello", "")
		}, "done", "hello", "hello\n", ""},
		{"begun again", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "first")
			f.piece(5, 1, 0, "second")
			f.finish(5, "done", "second", "")
		}, "done", "second", "first\nsecond\n", "  the answer starts again\n"},
		{"two steps with a tool between", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "let me see")
			f.emit(event.Event{Type: "tool.started", Turn: 5, Data: map[string]any{"tool": "exec", "summary": "run: df -h"}})
			f.emit(event.Event{Type: "tool.finished", Turn: 5, Data: map[string]any{"tool": "exec", "error": "TIMEOUT"}})
			f.piece(5, 3, 0, "all fine")
			f.finish(5, "done", "all fine", "")
		}, "done", "all fine", "let me see\nall fine\n", "  run: df -h\n"},
		{"the text of all steps", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.piece(5, 1, 0, "one")
			f.piece(5, 3, 0, "two")
			f.finish(5, "done", "one\n\ntwo three", "")
		}, "done", "one\n\ntwo three", "one\ntwo three\n", ""},
		{"silence", func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "") }, "done", "", "", ""},
		{"failed", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.finish(5, "failed", "", "the model is down")
		}, "failed", "", "", "  failed: the model is down\n"},
		{"stopped", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.finish(5, "stopped", "", "stopped by the owner")
		}, "stopped", "", "", "  stopped by you\n"},
		{"joined", func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "turn.joined", Turn: 5, Inbox: row, Data: map[string]any{"turn": 5, "inbox": row}})
			f.finish(5, "done", "hello", "")
		}, "done", "hello", "hello\n", ""},
		{"a command", func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "command.done", Inbox: row, Data: map[string]any{"inbox": row, "text": "all is well"}})
		}, "done", "all is well", "all is well\n", ""},
		{"behind others", func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "queue.ahead", Inbox: row, Data: map[string]any{"inbox": row, "ahead": 2}})
			f.emit(event.Event{Type: "turn.started", Turn: 4, Data: map[string]any{"turn": 4, "inbox": []int64{1}}})
			f.piece(4, 1, 0, "not for us")
			f.emit(event.Event{Type: "turn.finished", Turn: 4, Data: map[string]any{"turn": 4, "state": "done", "text": "not for us"}})
			turn(f, 5, row, "hello")
		}, "done", "hello", "hello\n", "  2 messages are ahead of yours\n"},
		{"dropped", func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "event.dropped", Inbox: row})
		}, "failed", "", "", ""},
		{"said in mid-turn", func(f *fake, row int64, _ client.Message) {
			start(f, row)
			f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "half way", "cause": "step", "turn": 5}})
			f.finish(5, "done", "there", "")
		}, "done", "there", "there\nhalf way\n", ""},
		{"what others are told meanwhile is told the next time", func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "stretch", "cause": "step", "turn": 3}})
			f.emit(event.Event{Type: "question.asked", Turn: 3, Data: map[string]any{"code": "AB", "text": "May I?", "turn": 3}})
			turn(f, 5, row, "hello")
		}, "done", "hello", "hello\n", ""},
		{"escape sequences", func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "\x1b[2Jboo") }, "done", "\x1b[2Jboo", "boo\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, out, notes, err := said(t, newFake(c.script), true, nil)
			if err != nil || a.State != c.state || a.Text != c.text || out != c.out || notes != c.notes {
				t.Errorf("%v\nstate %q text %q\n out   %q\n want  %q\n notes %q\n want  %q", err, a.State, a.Text, out, c.out, notes, c.notes)
			}
			piped, out, _, err := said(t, newFake(c.script), false, nil)
			if err != nil || out != "" || piped.Text != c.text || piped.State != c.state {
				t.Errorf("piped: %v, state %q text %q, out %q", err, piped.State, piped.Text, out)
			}
		})
	}
}

// TestPiecesNeverRepeat loses, doubles and cuts pieces at random: what a terminal shows is the text, once.
func TestPiecesNeverRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[a-dé€][a-d é€]{0,40}[a-d]`).Draw(rt, "text")
		type cut struct{ from, to int }
		var cuts []cut
		for from := 0; from < len(text); {
			to := min(len(text), from+rapid.IntRange(1, 6).Draw(rt, "n"))
			for to < len(text) && text[to]&0xc0 == 0x80 {
				to++
			}
			if !rapid.Bool().Draw(rt, "lost") {
				cuts = append(cuts, cut{from, to})
				if rapid.Bool().Draw(rt, "twice") {
					cuts = append(cuts, cut{from, to})
				}
			}
			from = to
		}
		f := newFake(func(f *fake, row int64, _ client.Message) {
			f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			for _, c := range cuts {
				f.piece(5, 1, c.from, text[c.from:c.to])
			}
			f.finish(5, "done", text, "")
		})
		_, out, notes, err := said(t, f, true, nil)
		if err != nil || strings.TrimSpace(out) != strings.TrimSpace(text) || notes != "" {
			rt.Fatalf("%v: %q (%q), want %q", err, out, notes, text)
		}
	})
}

func asks(options ...string) func(f *fake, row int64, m client.Message) {
	return func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "May I? /approve AB12", "cause": "question", "turn": 9}})
		f.emit(event.Event{Type: "question.asked", Turn: 5, Data: map[string]any{"code": "AB12", "subject": "turn-call", "text": "May I?", "options": options, "turn": 5}})
		f.emit(event.Event{Type: "turn.waiting", Turn: 5, Data: map[string]any{"turn": 5, "why": "approval"}})
	}
}

func TestQuestionWithNobodyThere(t *testing.T) {
	a, out, notes, err := said(t, newFake(asks("once", "no")), false, nil)
	if err != nil || a.State != "waiting" || a.Question == nil || a.Question.Code != "AB12" || out != "" {
		t.Errorf("%v %+v %q", err, a, out)
	}
	if !strings.Contains(notes, "/approve AB12") {
		t.Errorf("notes %q do not say how to answer", notes)
	}
}

func TestQuestionAtTheTerminal(t *testing.T) {
	for _, c := range []struct {
		lines []string
		act   string
	}{
		{[]string{"y"}, "questions AB12 approve once"},
		{[]string{"what?", "", "YES"}, "questions AB12 approve once"},
		{[]string{"always"}, "questions AB12 approve always"},
		{[]string{"turn", "n"}, "questions AB12 deny"}, // turn is not offered
	} {
		f := newFake(asks("once", "always", "no"))
		f.onAct = func(f *fake, _ string) {
			f.emit(event.Event{Type: "question.answered", Turn: 5, Data: map[string]any{"code": "AB12"}})
			f.finish(5, "done", "did it", "")
		}
		lines := c.lines
		a, out, _, err := said(t, f, true, func(context.Context, string) (string, error) {
			line := lines[0]
			lines = lines[1:]
			return line, nil
		})
		if err != nil || a.State != "done" || len(f.acts) != 1 || f.acts[0] != c.act || out != "? May I?\ndid it\n" {
			t.Errorf("%v: %v, %+v, acts %q, out %q", c.lines, err, a, f.acts, out)
		}
	}
}

// TestPlainAnswer: a message that answers an open question is served by the turn that asked.
func TestPlainAnswer(t *testing.T) {
	f := newFake(func(f *fake, _ int64, _ client.Message) {
		f.emit(event.Event{Type: "question.answered", Turn: 3, Data: map[string]any{"code": "Q1", "answer": "hi"}})
		f.finish(3, "done", "thanks", "")
	})
	if a, out, _, err := said(t, f, true, nil); err != nil || a.Turn != 3 || a.Text != "thanks" || out != "thanks\n" {
		t.Errorf("%v %+v %q", err, a, out)
	}
}

func TestInterruptStopsTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		started bool
		act     string
	}{"a turn": {true, "[turns 5 stop]"}, "a queued message": {false, "[]"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		f := newFake(func(f *fake, row int64, _ client.Message) {
			if c.started {
				f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			}
		})
		out := &noticed{then: interrupt}
		if !c.started {
			f.script = func(f *fake, row int64, _ client.Message) {
				f.emit(event.Event{Type: "queue.ahead", Inbox: row, Data: map[string]any{"inbox": row, "ahead": 1}})
			}
		} else {
			start := f.script
			f.script = func(f *fake, row int64, m client.Message) {
				start(f, row, m)
				f.emit(event.Event{Type: "tool.started", Turn: 5, Data: map[string]any{"summary": "run: sleep"}})
			}
		}
		once := console.Once{API: f, Out: &console.Pipes{Out: out, Err: out}, Zone: time.UTC}
		_, err := once.Say(ctx, client.Message{Text: "hi"})
		if err == nil || fmt.Sprint(f.acts) != c.act {
			t.Errorf("%s: %v, acts %q", name, err, f.acts)
		}
		if kept := strings.Contains(out.text, "hob inbox drop 100"); kept == c.started {
			t.Errorf("%s: it says %q", name, out.text)
		}
		interrupt()
	}
}

// noticed is a writer that calls a function at each write.
type noticed struct {
	then func()
	text string
}

func (n *noticed) Write(b []byte) (int, error) {
	n.text += string(b)
	n.then()
	return len(b), nil
}

func TestRestartIsWaitedFor(t *testing.T) {
	f := newFake(func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "hello") })
	f.drop = 2
	if a, out, notes, err := said(t, f, true, nil); err != nil || a.Text != "hello" || out != "hello\n" || !strings.Contains(notes, "waiting for it") {
		t.Errorf("%v %+v %q %q", err, a, out, notes)
	}
}

func TestMissedMessages(t *testing.T) {
	f := newFake(func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "hello") })
	for i := range 22 {
		f.emit(event.Event{Type: "message.sent", At: time.Date(2026, 11, 21, 9, i, 0, 0, time.UTC), Data: map[string]any{"text": fmt.Sprintf("m%d.", i), "cause": "step", "turn": 1}})
	}
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"to": "ntfy:a"}})
	cursor := console.Cursor(t.TempDir() + "/c")
	say := func(live bool) string {
		var b bytes.Buffer
		once := console.Once{API: f, Out: &console.Pipes{Out: &b, Err: &b, Live: live, Screen: console.Look{UTF8: true}}, Cursor: cursor, Zone: time.UTC}
		if _, err := once.Say(t.Context(), client.Message{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := say(false); got != "" {
		t.Errorf("a pipe got %q", got)
	}
	first := say(true)
	if !strings.HasPrefix(first, "  while you were away:\n  2 older ones are in: hob outbox list\n") || !strings.Contains(first, "2026-11-21 09:21 UTC\nm21.\n") || strings.Contains(first, "m1.") ||
		strings.Count(first, "hello") != 1 { // the answer that went to the pipe does not come again
		t.Errorf("first look: %s", first)
	}
	if got := say(true); got != "hello\n" {
		t.Errorf("second look: %q", got)
	}
}

func TestCursorSurvivesDamage(t *testing.T) {
	c := console.Cursor(t.TempDir() + "/c")
	if err := c.Move(42); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Place(); n != 42 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	deep := console.Cursor(t.TempDir() + "/state/c")
	if err := deep.Move(7); err != nil {
		t.Fatal(err)
	}
	if n, err := deep.Place(); n != 7 || err != nil {
		t.Errorf("in a new folder: %d %v", n, err)
	}
	if n, err := console.Cursor("").Place(); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J")
	f.Add("a\u202eb\u2028\x9b")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range console.Clean(s) {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e) {
				t.Errorf("%q lets %q through", s, r)
			}
		}
	})
}
