package console_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
	"hob/daemon/text"
)

// noon is when the stories on the screens begin.
var noon = time.Date(2026, 11, 23, 11, 40, 0, 0, time.UTC)

// screen is a terminal that draws what it gets, and a conversation on it.
type screen struct {
	mu      sync.Mutex
	more    *sync.Cond
	drawn   *vt.Emulator
	size    [2]int
	keys    *io.PipeWriter
	resized chan os.Signal
	clock   time.Time
	ended   chan error
	colors  bool
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	return s.drawn.Write(b)
}

// drawing starts a conversation on a terminal of some size.
func drawing(t *testing.T, f *fake, width, height int, look console.Look, with ...func(*console.Talk)) *screen {
	t.Helper()
	in, keys := io.Pipe()
	s := &screen{
		drawn: vt.NewEmulator(width, height), size: [2]int{width, height}, keys: keys, resized: make(chan os.Signal, 1),
		clock: noon, ended: make(chan error, 1), colors: look.Color,
	}
	s.more = sync.NewCond(&s.mu)
	talk := console.Talk{
		API: f, In: in, Out: s, Zone: time.UTC, Log: slog.New(slog.DiscardHandler), Look: look, Resized: s.resized,
		Size: func() (int, int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.size[0], s.size[1]
		},
		Now: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.clock
		},
	}
	for _, set := range with {
		set(&talk)
	}
	go func() { s.ended <- talk.Run(t.Context()) }()
	t.Cleanup(func() { _ = keys.Close() })
	s.until(t, "> ")
	return s
}

// plain is the text on the screen.
func (s *screen) plain() string { return trimmed(s.drawn.String()) }

// trimmed is a text without the empty end of its lines.
func trimmed(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// shown is the screen as text, with the place of the cursor, and its styles if it has any.
func (s *screen) shown() string {
	text := s.plain()
	if s.colors {
		text = trimmed(strings.ReplaceAll(s.drawn.Render(), "\x1b", "␛"))
	}
	at := s.drawn.CursorPosition()
	return text + fmt.Sprintf("\n(cursor at %d,%d)\n", at.X, at.Y)
}

// until waits until the screen shows a text.
func (s *screen) until(t *testing.T, text string) {
	t.Helper()
	if !s.reaches(func() bool { return strings.Contains(s.plain(), strings.TrimRight(text, " ")) }) {
		t.Fatalf("%q was not shown:\n%s", text, s.shown())
	}
}

// has reports whether the screen shows a text.
func (s *screen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.plain(), text)
}

// reaches waits until the screen is as it should be; false after a minute.
func (s *screen) reaches(state func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	stop := time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.more.Broadcast()
	})
	defer stop.Stop()
	for !state() && !late {
		s.more.Wait()
	}
	return state()
}

func (s *screen) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.keys.Write([]byte(keys)); err != nil {
		t.Fatal(err)
	}
}

// later moves the clock.
func (s *screen) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(d)
}

// resize changes the size, as a person does with a window.
func (s *screen) resize(width, height int) {
	s.mu.Lock()
	s.size = [2]int{width, height}
	s.drawn.Resize(width, height)
	s.mu.Unlock()
	s.resized <- os.Interrupt
}

// keeps waits until the screen is the one that is kept. UPDATE=1 keeps the present one: look at it.
func (s *screen) keeps(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join("testdata", "screens", name+".txt")
	if os.Getenv("UPDATE") != "" {
		s.accept(t, file)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A screen is drawn by several writes, so one of them may be seen before the last.
	if !s.reaches(func() bool { return s.shown() == string(want) }) {
		t.Errorf("the screen is not %s:\n%s", file, s.shown())
	}
}

// accept writes the screen to a file when nothing has been drawn for a while.
func (s *screen) accept(t *testing.T, file string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for before := ""; before != s.shown(); {
		before = s.shown()
		s.mu.Unlock()
		<-time.After(2 * time.Second)
		s.mu.Lock()
	}
	if err := os.WriteFile(file, []byte(s.shown()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// leaves ends the conversation.
func (s *screen) leaves(t *testing.T) {
	t.Helper()
	s.press(t, "\x04")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// house is an answer that is written while somebody types and a job speaks.
const house = "# Rooms\n\nThe house has **three** rooms, and each of them has windows that look to the south:\n\n- the kitchen\n- the hall\n\n```sh\nls rooms\n```\n\n| room | size |\n|------|-----:|\n| hall | 12 |\n\nThat is all."

// TestScreens: an answer, a message that arrives in mid-word, and a resize in mid-line, on terminals of three sizes.
func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		width, height int
		look          console.Look
	}{
		"80x24":        {80, 24, console.Look{UTF8: true, Moves: true}},
		"80x24-color":  {80, 24, console.Look{UTF8: true, Moves: true, Color: true}},
		"40x20-ascii":  {40, 20, console.Look{Moves: true}},
		"200x50-color": {200, 50, console.Look{UTF8: true, Moves: true, Color: true}},
	} {
		t.Run(name, func(t *testing.T) {
			posted := make(chan string, 2)
			f := newFake(func(f *fake, row int64, m client.Message) {
				posted <- m.Text
				f.emit(event.Event{Type: "turn.started", At: noon, Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
			})
			s := drawing(t, f, c.width, c.height, c.look)
			s.press(t, "what is in the house?\r")
			s.until(t, "house?")
			s.later(4 * time.Second)
			s.until(t, "thinking 4 s")
			s.keeps(t, name+"-1-thinking")
			half := strings.Index(house, "oms, and")
			f.piece(5, 1, 0, house[:half])
			s.until(t, "three ro")
			s.press(t, "and the gar")
			s.until(t, "and the gar")
			f.emit(event.Event{Type: "message.sent", At: noon, Data: map[string]any{"text": "stand **up**", "cause": "fire", "from": "job", "name": "stretch"}})
			f.piece(5, 1, half, house[half:])
			s.until(t, "That is all.")
			s.later(2 * time.Second)
			s.until(t, "writing 2 s")
			s.keeps(t, name+"-2-writing")
			f.finish(5, "done", house, "")
			s.until(t, "stretch")
			s.keeps(t, name+"-3-answered")
			s.resize(c.width-10, c.height)
			s.press(t, "den")
			s.until(t, "> and the garden")
			s.keeps(t, name+"-4-resized")
			s.press(t, "\x1b[1~X\x1b[4~Y\x1bb\x1bd\r")
			s.until(t, "> Xand the ")
			if first, edited := <-posted, <-posted; first != "what is in the house?" || edited != "Xand the" {
				t.Errorf("the lines are %q and %q", first, edited)
			}
			f.emit(event.Event{Type: "turn.finished", Turn: 5})
		})
	}
}

// TestArrivedOnce (N10): a reminder whose text is its name, or begins with it, is shown once; on one line if it fits.
func TestArrivedOnce(t *testing.T) {
	f := newFake(func(*fake, int64, client.Message) {})
	s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
	for _, m := range [][2]string{
		{"stretch", "stretch"}, {"check-the-oven", "Check the oven!"}, {"buy", "buy\n- milk"}, {"check", "checkers at five"}, {"stretch", "stand **up**"},
	} {
		f.emit(event.Event{Type: "message.sent", At: noon, Data: map[string]any{"text": m[1], "cause": "fire", "from": "job", "name": m[0]}})
	}
	s.until(t, "stand up")
	s.keeps(t, "arrived-once")
	s.leaves(t)
}

// TestQuestionsOfEndedCommands (U69): they are one line together, since nobody here waits for them; a question of the conversation is asked.
func TestQuestionsOfEndedCommands(t *testing.T) {
	f := newFake(func(*fake, int64, client.Message) {})
	for _, code := range []string{"AA11", "BB22", "CC33"} {
		f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": code, "subject": "call", "text": "May the command line run: ls?", "options": []string{"once", "no"}}})
	}
	f.emit(event.Event{Type: "question.answered", Data: map[string]any{"code": "BB22"}})
	f.emit(event.Event{Type: "question.asked", Data: map[string]any{"code": "DD44", "subject": "job", "text": "Run it now?", "options": []string{"run", "skip"}}})
	s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
	s.until(t, "2 questions of commands that have ended: hob approvals list")
	s.until(t, "Run it now?")
	if s.has("May the command line") {
		t.Errorf("the question is shown in full:\n%s", s.shown())
	}
	s.leaves(t)
}

// TestPromptSaysWhatItAllows: once something else came below a question, the line above the prompt says what the prompt would allow.
func TestPromptSaysWhatItAllows(t *testing.T) {
	f := newFake(asks("once", "no"))
	s := drawing(t, f, 40, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "go\r")
	s.until(t, "? May I?\n  later: /approve AB12 or /deny AB12\nAB12 allow? [y]es, [n]o:") // the question is just above
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "stand up", "cause": "notice"}})
	s.until(t, "stand up\n\n? May I?\nAB12 allow? [y]es, [n]o:")
	s.press(t, "y")
	f.emit(event.Event{Type: "message.sent", Data: map[string]any{"text": "sit down", "cause": "notice"}})
	s.until(t, "sit down\n\n? May I?\nAB12 allow? [y]es, [n]o: y")
	s.press(t, "\x7f")
	f.emit(event.Event{Type: "question.expired", Turn: 5, Data: map[string]any{"code": "AB12"}})
	s.until(t, "sit down\n\n>")
	s.leaves(t)
}

// TestElsewhere: a command that hob has in the shell only is answered here with that, and is no message.
func TestElsewhere(t *testing.T) {
	f := newFake(func(_ *fake, _ int64, m client.Message) { t.Errorf("%q was sent", m.Text) })
	s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
	for command, answer := range map[string]string{"/undo": "hob turns show", "/trust": "hob trust list", "/tasks": "hob tasks list", "/attach": "which file?"} {
		s.press(t, command+"\r")
		s.until(t, answer)
	}
	s.leaves(t)
}

// TestHelpHere: /help goes to the daemon, and the terminal adds its own commands.
func TestHelpHere(t *testing.T) {
	f := newFake(func(f *fake, row int64, m client.Message) {
		f.emit(event.Event{Type: "command.done", Inbox: row, Data: map[string]any{"inbox": row, "text": "help for " + m.Text}})
	})
	s := drawing(t, f, 120, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "/help\r")
	s.until(t, "help for /help")
	s.until(t, "/attach FILE sends a file with the next message; /sessions shows")
	s.leaves(t)
}

// TestTaintLine: the call after which a conversation has read text of others says so, by what, and what ends it.
func TestTaintLine(t *testing.T) {
	f := newFake(func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: 5, Data: map[string]any{"tool": "read", "summary": "read: mail.txt", "tainted": "mail.txt \u202e"}})
		f.finish(5, "done", "it is a bill", "")
	})
	s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
	s.press(t, "read mail.txt\r")
	s.until(t, "it is a bill")
	s.keeps(t, "taint")
	s.leaves(t)
}

// TestVerbatimScreen: what the interpreter's run or read returned is shown as it is, and the answer of a model after the same call as Markdown.
func TestVerbatimScreen(t *testing.T) {
	const text = "# head\n**bold** a_b_c\n\n    four\x1b[2J\n| a |\n|--|\tb\n" + "long words that do not fit into the line of a screen of forty"
	verbatim := true
	f := newFake(func(f *fake, row int64, _ client.Message) {
		f.emit(event.Event{Type: "turn.started", At: noon, Turn: row, Data: map[string]any{"turn": row, "inbox": []int64{row}}})
		f.emit(event.Event{Type: "tool.finished", At: noon, Turn: row, Data: map[string]any{"tool": "exec", "summary": "run: cat notes", "verbatim": verbatim}})
		f.piece(row, 2, 0, text)
		f.finish(row, "done", text, "")
		verbatim = false
	})
	s := drawing(t, f, 40, 40, console.Look{UTF8: true, Moves: true})
	s.press(t, "run cat notes\r")
	s.until(t, "forty")
	s.press(t, "show me my notes\r")
	s.until(t, "====")
	s.keeps(t, "verbatim")
	s.leaves(t)
}

// TestOutputScreens: the newest lines of a command are shown while it runs, and are gone when it has ended.
func TestOutputScreens(t *testing.T) {
	for name, c := range map[string]struct {
		width, height int
		look          console.Look
	}{
		"80x24": {80, 24, console.Look{UTF8: true, Moves: true}}, "40x10-ascii": {40, 10, console.Look{Moves: true}},
		"20x24-color": {20, 24, console.Look{UTF8: true, Moves: true, Color: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(func(f *fake, row int64, _ client.Message) {
				f.emit(event.Event{Type: "turn.started", At: noon, Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
				f.emit(event.Event{Type: "tool.started", At: noon, Turn: 5, Data: map[string]any{"tool": "exec", "summary": "run: make all install check"}})
			})
			s := drawing(t, f, c.width, c.height, c.look)
			s.press(t, "run make all install check\r")
			s.until(t, "check")
			// What is printed before the client knows the turn is lost, as it may be.
			for !s.has("line") && t.Context().Err() == nil {
				f.prints(5, "line 1\n  \x1b[2Jline\t\u202e2\n")
				<-time.After(20 * time.Millisecond)
			}
			f.prints(5, strings.Repeat("x\n", 40)+strings.Repeat("long ", 300)+"\nöl 日本\n")
			s.later(12 * time.Second)
			s.until(t, "12 s")
			s.press(t, "and")
			s.until(t, "> and")
			s.keeps(t, "output-"+name+"-1-runs")
			f.emit(event.Event{Type: "tool.finished", At: noon, Turn: 5, Data: map[string]any{"tool": "exec", "summary": "run: make all install check"}})
			f.finish(5, "done", "made", "")
			s.until(t, "made")
			s.keeps(t, "output-"+name+"-2-ended")
			s.press(t, "\x15")
			s.leaves(t)
		})
	}
}

// TestHostileScreens: what an answer contains changes nothing but its own block.
func TestHostileScreens(t *testing.T) {
	for name, text := range map[string]string{
		"sequences": "before \x1b[2J\x1b[1;1H\x1b]0;title\x07\x1b[?1049h\x1b[31mred\x1b[0m \x9b2J after",
		"bidi":      "allow \u202eon\u202c \u2066x",
		"long":      strings.Repeat("x", 1<<20) + " end",
		"table":     strings.Repeat("|c", 500) + "|\n" + strings.Repeat("|-", 500) + "|\n" + strings.Repeat("|v", 500) + "|",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(func(f *fake, row int64, m client.Message) {
				turn(f, row, row, map[string]string{"go": text + "\n\nend of it", "last": "done"}[m.Text])
			})
			s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true, Color: true})
			s.press(t, "go\r")
			s.until(t, "end of it\n\n>")
			s.press(t, "last\r")
			s.until(t, "> last\ndone\n\n>")
			s.keeps(t, "hostile-"+name)
			s.leaves(t)
		})
	}
}

// TestApprovalScreens: a question shows the call as people read it, without the lines for programs, and what "always" would allow (N21, N23).
func TestApprovalScreens(t *testing.T) {
	for name, pattern := range map[string]string{"write": "", "always": `write "/notes.md"`} {
		t.Run(name, func(t *testing.T) {
			options := []string{"once", "no"}
			if pattern != "" {
				options = []string{"once", "always", "no"}
			}
			f := newFake(func(f *fake, row int64, _ client.Message) {
				f.emit(event.Event{Type: "turn.started", Turn: 5, Data: map[string]any{"turn": 5, "inbox": []int64{row}}})
				f.emit(event.Event{Type: "question.asked", Turn: 5, Data: map[string]any{
					"code": "AB12", "subject": "turn-call", "options": options, "pattern": pattern,
					"text": "May I write /notes.md? (it lies outside the workspace)\n  @@ -1,2 +1,2 @@\n  -buy milk\n  +buy bread\n   call mum\n  careful: it is late\n" +
						text.AsJSON + `{"tool":"write"}` + "\n" + text.AlwaysAllowed + "[tools] x = 1",
				}})
				f.emit(event.Event{Type: "turn.waiting", Turn: 5, Data: map[string]any{"why": "waits for the owner"}})
			})
			s := drawing(t, f, 80, 24, console.Look{UTF8: true, Moves: true})
			s.press(t, "go\r")
			s.until(t, "[n]o:")
			s.keeps(t, "approval-"+name)
			s.leaves(t)
		})
	}
}
