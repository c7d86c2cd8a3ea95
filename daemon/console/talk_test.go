package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// terminal is a raw terminal that a test types on and reads from.
type terminal struct {
	mu    sync.Mutex
	more  *sync.Cond
	shown string
	read  int // up to where until has looked
	keys  *io.PipeWriter
}

func (w *terminal) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown += string(b)
	w.more.Broadcast()
	return len(b), nil
}

// until waits for a text behind the last one that was waited for.
func (w *terminal) until(t *testing.T, text string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for t.Context().Err() == nil {
		if i := strings.Index(w.shown[w.read:], text); i >= 0 {
			w.read += i + len(text)
			return
		}
		w.more.Wait()
	}
	t.Errorf("the test ended before %q was shown", text)
}

func (w *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := w.keys.Write([]byte(keys)); err != nil {
		t.Fatal(err)
	}
}

// talking starts a conversation; ended gives its error.
func talking(t *testing.T, f *fake, cursor console.Cursor, with ...func(*console.Talk)) (w *terminal, ended chan error) {
	t.Helper()
	in, keys := io.Pipe()
	w = &terminal{keys: keys}
	w.more = sync.NewCond(&w.mu)
	talk := console.Talk{
		API: f, In: in, Out: w, Cursor: cursor, Zone: time.UTC, Log: slog.New(slog.DiscardHandler),
		Size: func() (int, int) { return 80, 24 }, Look: console.Look{UTF8: true, Moves: true},
	}
	ended = make(chan error, 1)
	for _, set := range with {
		set(&talk)
	}
	go func() { ended <- talk.Run(t.Context()) }()
	t.Cleanup(func() { _ = keys.Close() })
	return w, ended
}

func TestTalk(t *testing.T) {
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "hello\r")
	w.until(t, "you said: hello\r\n")
	w.until(t, "> ")
	w.press(t, "one\\\r")
	w.until(t, "… ")
	w.press(t, "two\r")
	w.until(t, "you said: one\r\ntwo\r\n")
	w.until(t, "> ")
	w.press(t, "\"\"\"\ra\\\r\rb\r\"\"\"\r")
	w.until(t, "you said: a\\\r\n\r\nb\r\n")
	w.until(t, "> ")
	w.press(t, "\x1b[200~pasted\r\ntext\r\x1b[201~")
	w.until(t, "text")
	w.press(t, "!\x1b\rx\ny\r")
	w.until(t, "you said: pasted\r\ntext!\r\nx\r\ny\r\n")
	w.until(t, "> ")
	w.press(t, "bad\r")
	w.until(t, "that is bad")
	w.until(t, "say better")
	w.until(t, "> ")
	w.press(t, "half a line")
	w.until(t, "half a line")
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "stand up", "cause": "step", "turn": 1}})
	w.until(t, "stand up\r\n")
	w.until(t, "> half a line") // the line that is being typed comes back below
	w.press(t, "\r")
	w.until(t, "you said: half a line\r\n")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTalkInterrupts(t *testing.T) {
	f := newFake(func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
		f.piece(5, 1, 0, "thinking")
	})
	f.onAct = func(f *fake, what string) {
		if what == "turns 5 stop" {
			f.finish(5, "stopped", "", "you said so")
		}
	}
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "go\r")
	w.until(t, "thinking")
	w.press(t, "\x03")
	w.until(t, "stopped: you said so")
	w.until(t, "> ")
	w.press(t, "typo")
	w.until(t, "typo")
	w.press(t, "\x03") // the line
	w.press(t, "\x03")
	w.until(t, "press Ctrl-C again")
	w.press(t, "x\x7f")
	w.until(t, "x")
	w.press(t, "\x03")
	w.until(t, "press Ctrl-C again") // a key in between disarms
	w.press(t, "\x03")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if fmt.Sprint(f.acts) != "[turns 5 stop]" {
		t.Errorf("acts %q", f.acts)
	}
}

// TestTalkKeepsWhatIsQueued: Ctrl-C stops the turn that runs; what waits behind it is served.
func TestTalkKeepsWhatIsQueued(t *testing.T) {
	rows := []int64{}
	f := newFake(func(f *fake, row int64, _ client.Message) {
		if rows = append(rows, row); len(rows) == 1 {
			f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			f.piece(5, 1, 0, "thinking")
			return
		}
		f.emit(event.Event{Type: "queue.ahead", Inbox: row, Data: map[string]any{"inbox": row, "ahead": 1}})
	})
	f.onAct = func(f *fake, _ string) { f.finish(5, "stopped", "", "stopped by the owner") }
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "go\r")
	w.until(t, "thinking")
	w.press(t, "more\r")
	w.until(t, "1 message of yours queued")
	w.press(t, "\x03")
	w.until(t, "1 message of yours still queued")
	w.until(t, "stopped by you")
	w.press(t, "\x03")
	w.until(t, "1 message of yours still queued")
	w.until(t, "press Ctrl-C again")
	turn(f, 6, rows[1], "served")
	w.until(t, "served")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if fmt.Sprint(f.acts) != "[turns 5 stop]" {
		t.Errorf("acts %q", f.acts)
	}
}

// TestTalkOffersALostMessageAgain: what was typed while nobody answered stands in the editor again, and is the same message when it
// is sent unchanged.
func TestTalkOffersALostMessageAgain(t *testing.T) {
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	f.down = 3
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "hello\r")
	w.until(t, "hob is not running; your message is below; press Enter to send it again")
	w.until(t, "> hello")
	w.press(t, "\r")
	w.until(t, "> hello")
	w.press(t, "!\\\r")
	w.until(t, "… ")
	w.press(t, "two\r")
	w.until(t, "hob is not running")
	w.until(t, "two")
	w.press(t, "\r")
	w.until(t, "you said: hello!\r\ntwo\r\n")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p := f.posts
	if len(p) != 4 || p[0].ID == "" || p[0].ID != p[1].ID || p[1].ID == p[2].ID || p[2].ID != p[3].ID {
		t.Errorf("posts %+v", p)
	}
}

// After a restore the events can end before the number up to which the user has read. The terminal shows all messages that the database has, and
// those that come.
func TestTalkAfterARestore(t *testing.T) {
	cursor := console.Cursor(t.TempDir() + "/c")
	if err := cursor.Move(99); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	f.last = f.emit(event.Event{Type: "message.sent", At: time.Now().Add(time.Minute), Data: map[string]any{"text": "a new database", "cause": "notice"}})
	w, ended := talking(t, f, cursor)
	w.until(t, "a new database\r\n")
	w.until(t, "> ")
	w.press(t, "hello\r")
	w.until(t, "you said: hello\r\n")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n, err := cursor.Place(); n > 20 || err != nil {
		t.Errorf("place %d, %v", n, err)
	}
}

// A place that cannot be noted ends no conversation, which in the terminal of hob up would end hob. It is told once.
func TestTalkCannotNoteThePlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	cursor := console.Cursor(dir + "/c")
	if err := cursor.Move(1); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	w, ended := talking(t, f, cursor)
	w.until(t, "> ")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.press(t, "hello\r")
	w.until(t, "may show again what was shown here")
	w.press(t, "more\r")
	w.until(t, "you said: more\r\n")
	w.press(t, "\x04")
	<-ended // nothing is written while the folder is removed
	if strings.Count(w.shown, "may show again") != 1 {
		t.Errorf("it is told twice:\n%s", w.shown)
	}
}

// Several terminals note their places at the same time.
func TestCursorsOfSeveralTerminals(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	for range 8 {
		go func() {
			var err error
			for n := range int64(100) {
				err = errors.Join(err, console.Cursor(dir+"/c").Move(n))
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if list, err := os.ReadDir(dir); len(list) != 1 || err != nil {
		t.Errorf("left: %v, %v", list, err)
	}
}

// Equal messages in a row are different messages: three posts of a webhook are three.
func TestTalkShowsEqualMessages(t *testing.T) {
	f := newFake(func(*fake, int64, client.Message) {})
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	for range 3 {
		f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "it rings", "cause": "turn", "turn": 0}})
	}
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "the last", "cause": "turn", "turn": 0}})
	w.until(t, "the last")
	w.press(t, "\x04")
	if err := <-ended; err != nil || strings.Count(w.shown, "it rings") != 3 {
		t.Errorf("%v, shown:\n%s", err, w.shown)
	}
}

// TestTalkTypesAhead: what is typed while an answer streams is edited below it, and joins the turn.
func TestTalkTypesAhead(t *testing.T) {
	n := 0
	f := newFake(func(f *fake, row int64, m client.Message) {
		if n++; n == 1 {
			f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			f.piece(5, 1, 0, "first ")
			return
		}
		f.emit(event.Event{Type: "turn.joined", Turn: 5, Inbox: row, Data: map[string]any{"turn": 5, "inbox": row}})
		f.piece(5, 1, 12, " third")
		f.finish(5, "done", "first second third "+m.Text, "")
	})
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "go\r")
	w.until(t, "first")
	w.press(t, "more")
	w.until(t, "> more")
	f.piece(5, 1, 6, "second")
	w.press(t, "\r")
	w.until(t, "second third more\r\n")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTalkAsks(t *testing.T) {
	f := newFake(asks("once", "always", "no"))
	f.onAct = func(f *fake, _ string) {
		f.emit(event.Event{Type: "question.answered", Turn: 5, Data: map[string]any{"code": "AB12"}})
		f.finish(5, "done", "did it", "")
	}
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "go\r")
	w.until(t, "? May I?")
	w.until(t, "allow? [y]es, [a]lways, [n]o: ")
	w.press(t, "a\r")
	w.until(t, "did it\r\n")
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if fmt.Sprint(f.acts) != "[questions AB12 approve always]" {
		t.Errorf("acts %q", f.acts)
	}
}

func TestTalkRemembersItsPlace(t *testing.T) {
	cursor := console.Cursor(t.TempDir() + "/c")
	f := newFake(func(*fake, int64, client.Message) {})
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "old news", "cause": "step", "turn": 1}})
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": "C1", "subject": "job", "text": "Answered?"}})
	f.emit(event.Event{Type: "question.answered", Data: map[string]any{"code": "C1"}})
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": "C0", "subject": "config", "text": "Accept it?"}})
	f.emit(event.Event{Type: "question.expired", Data: map[string]any{"code": "C0"}})
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": "C2", "subject": "job", "text": "Still open?", "options": []string{"run", "skip"}}})
	w, ended := talking(t, f, cursor)
	w.until(t, "old news\r\n")
	w.until(t, "Still open?")
	w.until(t, "> ")
	if n, err := cursor.Place(); n != 6 || err != nil { // if the process is killed now, nothing comes again
		t.Errorf("place %d, %v", n, err)
	}
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(w.shown, "Answered?") || strings.Contains(w.shown, "Accept it?") {
		t.Errorf("a question that has ended was shown:\n%s", w.shown)
	}
	w, ended = talking(t, f, cursor)
	w.until(t, "> ")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(w.shown, "old news") {
		t.Error("it was shown again")
	}
}

func TestTalkEndsWithItsContext(t *testing.T) {
	f := newFake(func(*fake, int64, client.Message) {})
	in, keys := io.Pipe()
	w := &terminal{keys: keys}
	w.more = sync.NewCond(&w.mu)
	ctx, stop := context.WithCancel(t.Context())
	talk := console.Talk{API: f, In: in, Out: w, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), Size: func() (int, int) { return 80, 24 }}
	ended := make(chan error, 1)
	go func() { ended <- talk.Run(ctx) }()
	w.until(t, "> ")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = keys.Close()
}

func TestAttend(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	run := func(ctx context.Context, ready func()) error {
		ready()
		<-ctx.Done()
		return nil
	}
	talked := false
	err := console.Attend(t.Context(), log, run, func(context.Context) error {
		talked = true
		return nil
	})
	if err != nil || !talked {
		t.Errorf("leaving the conversation: %v, %v", err, talked)
	}
	broken := func(_ context.Context, ready func()) error {
		ready()
		return io.ErrUnexpectedEOF
	}
	err = console.Attend(t.Context(), log, broken, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	if err == nil {
		t.Error("the daemon's error is lost")
	}
}

// TestTalkAttaches: files that were named go with the next message, once; what cannot be sent is said.
func TestTalkAttaches(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one", "b c.txt": "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newFake(func(f *fake, row int64, m client.Message) { turn(f, row, row, "you said: "+m.Text) })
	f.down = 1
	w, ended := talking(t, f, "")
	w.until(t, "> ")
	w.press(t, "/attach "+dir+"/none\r")
	w.until(t, "there is no file")
	w.press(t, "/attach "+dir+"/a.txt\r")
	w.until(t, "a.txt (3 bytes) goes with your next message")
	w.press(t, "/attach "+dir+"/b c.txt\r")
	w.until(t, "b c.txt (3 bytes) goes with your next message")
	w.press(t, "look\r")
	w.until(t, "hob is not running; your message is below")
	w.until(t, "> look")
	w.press(t, "\r")
	w.until(t, "you said: look\r\n")
	w.press(t, "again\r")
	w.until(t, "you said: again\r\n")
	w.press(t, "\x04")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []client.Attachment{{Name: "a.txt", Data: []byte("one")}, {Name: "b c.txt", Data: []byte("two")}}
	p := f.posts
	if len(p) != 3 || !reflect.DeepEqual(p[0].Attachments, want) || !reflect.DeepEqual(p[1].Attachments, want) || p[0].ID != p[1].ID || p[2].Attachments != nil {
		t.Errorf("posts %+v", p)
	}
}
