package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/artifacts"
	"hob/daemon/event"
)

// typed is a message of the owner's chat, as an adapter brings it.
func typed(text string) event.In {
	in := message(text)
	in.Origin.Person = "1"
	return in
}

// by is a message of somebody else's private chat.
func by(person, text string) event.In {
	in := typed(text)
	in.Session, in.Rank, in.Trust, in.Typed = "chat:"+person, event.RankRest, event.Known, false
	in.ReplyTo, in.Origin.Person, in.Sender = event.Address("chat:"+person), person, "Ana"
	return in
}

// joined takes the next turn, lets join what does, and says what it reads.
func (s *testStore) joined() (id int64, read []string) {
	s.t.Helper()
	if id = s.take(); id == 0 {
		return 0, nil
	}
	return id, s.reads(id)
}

// reads lets join a turn that runs what does, and says what it reads.
func (s *testStore) reads(id int64) (read []string) {
	s.t.Helper()
	if _, err := s.Turns.Begin(s.t.Context(), turn.Begin{Turn: id, Free: true}); err != nil {
		s.t.Fatal(err)
	}
	st, err := s.Turns.Load(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, it := range st.Items {
		read = append(read, event.TextOf(it.Parts))
	}
	return read
}

func (s *testStore) done(id int64) {
	s.t.Helper()
	if err := s.Turns.Commit(s.t.Context(), turn.Commit{Turn: id, End: &turn.Finish{State: turn.Done}}); err != nil {
		s.t.Fatal(err)
	}
}

// arrived is an inbox row.
type arrived struct {
	text, state, reason string
	kind                event.Kind
	typed               bool
}

func (s *testStore) row(seq int64) (r arrived) {
	s.t.Helper()
	err := s.Reader().QueryRowContext(s.t.Context(), "SELECT coalesce(parts ->> '$[0].text', ''), state, reason, kind, typed FROM inbox WHERE seq = ?", seq).Scan(&r.text, &r.state, &r.reason, &r.kind, &r.typed)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// Half a second is short: in these tests time stands still but for shop.later.

// What somebody writes in quick succession is one turn, in order, also when hob is killed between two of the messages.
func TestQuickMessagesAreOneTurn(t *testing.T) { synctest.Test(t, quickMessagesAreOneTurn) }

func quickMessagesAreOneTurn(t *testing.T) {
	s := fresh(t)
	s.accept(typed("remind me"))
	s.later(400 * time.Millisecond)
	s = s.crash()
	s.accept(typed("at 5"))
	s.later(400 * time.Millisecond)
	if id := s.take(); id != 0 {
		t.Fatal("it was taken before the pause was over")
	}
	next, err := s.Turns.NextWake(t.Context(), s.now())
	if wait := next.Sub(s.now()); err != nil || wait <= 0 || wait > channels.DebouncePause {
		t.Errorf("the thread wakes in %s, %v", wait, err)
	}
	s.later(150 * time.Millisecond)
	id, read := s.joined()
	if !slices.Equal(read, []string{"remind me", "at 5"}) {
		t.Errorf("turn %d reads %q", id, read)
	}
	if n := one[int](s, "SELECT count(*) FROM inbox WHERE turn = ? AND state = 'joined'", id); n != 2 {
		t.Errorf("%d rows have joined", n)
	}
}

// Messages without a pause are read after three seconds or twenty messages.
func TestAnEndlessWriterIsRead(t *testing.T) { synctest.Test(t, anEndlessWriterIsRead) }

func anEndlessWriterIsRead(t *testing.T) {
	s := fresh(t)
	for i := range 7 { // 450 ms apart: the pause is never long enough
		if id := s.take(); id != 0 {
			t.Fatalf("message %d: taken before", i)
		}
		s.accept(typed(fmt.Sprint(i)))
		s.later(450 * time.Millisecond)
	}
	if _, read := s.joined(); len(read) != 7 {
		t.Errorf("after 3.15 s %q are read", read)
	}
	s = fresh(t)
	for i := range channels.DebounceMessages {
		if id := s.take(); id != 0 {
			t.Fatalf("message %d: taken before", i)
		}
		s.accept(typed(fmt.Sprint(i)))
	}
	if _, read := s.joined(); len(read) != channels.DebounceMessages {
		t.Errorf("of twenty %q are read", read)
	}
}

// Only messages of chats wait, each for its own sender in its own chat; a turn that runs takes them at once.
func TestWhatDoesNotWait(t *testing.T) { synctest.Test(t, whatDoesNotWait) }

func whatDoesNotWait(t *testing.T) {
	command, other, group := typed("/status"), by("2", "hello"), by("2", "hello all")
	command.Kind = event.Command
	group.Session, group.ReplyTo = "chat:g", "chat:g"
	waits := func(s *testStore) int { return one[int](s, "SELECT count(*) FROM inbox WHERE burst = 1") }
	for name, c := range map[string]struct {
		in   event.In
		want int
	}{
		"the terminal's": {message("hi"), 0}, "a command": {command, 0}, "a message": {typed("hi"), 1}, "somebody else's": {other, 1},
	} {
		s := fresh(t)
		s.accept(c.in)
		if n := waits(s); n != c.want {
			t.Errorf("%s: %d rows wait", name, n)
		}
	}
	s := fresh(t)
	s.accept(other)
	s.later(300 * time.Millisecond)
	s.accept(group)
	s.accept(typed("mine"))
	s.later(250 * time.Millisecond)
	id, read := s.joined()
	if !slices.Equal(read, []string{"hello"}) {
		t.Errorf("the first has been waited for, and %q is read", read)
	}
	s.accept(by("2", "and more"))
	if begun, err := s.Turns.Begin(t.Context(), turn.Begin{Turn: id, Free: true}); err != nil || begun.Joined != 1 {
		t.Errorf("%d messages steer the turn, %v", begun.Joined, err)
	}
}

// A command does not overtake the message before it: the message is read in the old conversation.
func TestNewWaitsForTheMessageBefore(t *testing.T) { synctest.Test(t, newWaitsForTheMessageBefore) }

func newWaitsForTheMessageBefore(t *testing.T) {
	s := fresh(t)
	s.accept(typed("last words"))
	in := typed("/new")
	in.Kind = event.Command
	s.accept(in)
	if _, read := s.joined(); !slices.Equal(read, []string{"last words"}) {
		t.Errorf("taken first: %q", read)
	}
}

// A backlog comes in as fast as it is fetched, a commit for each batch, once each and in order, also when every batch is delivered twice.
func TestBacklog(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	s := fresh(t)
	began := time.Now()
	const batch = 100
	for from := 0; from < n; from += batch {
		list := make([]event.In, batch)
		for i := range list {
			list[i] = by("2", fmt.Sprint(from+i))
			list[i].ExtID = fmt.Sprint(from + i)
		}
		for range 2 {
			if _, err := s.Inbox.Accept(t.Context(), list, &channels.Cursor{Source: "chat", Identity: "bot", Value: fmt.Sprint(from)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d messages, twice each, in %s", n, time.Since(began))
	if wrong := one[int](s, "SELECT count(*) FROM inbox WHERE ext_id <> seq - 1 OR parts ->> '$[0].text' <> ext_id"); wrong != 0 {
		t.Errorf("%d are not in their place", wrong)
	}
	if rows := one[int](s, "SELECT count(*) FROM inbox"); rows != n {
		t.Errorf("%d rows of %d messages", rows, n)
	}
}

// edited is an edit of the message ext.
func edited(ext, text string) event.In {
	in := typed(text)
	in.ExtID, in.Origin.Edits = fmt.Sprintf("%s/%s", ext, text), ext
	return in
}

// What nobody has read is replaced where it stands, each edit once; what has been read is followed by an input that says so.
func TestEdits(t *testing.T) {
	s := fresh(t)
	in := typed("by moon")
	in.ExtID = "a"
	seq := s.accept(in)
	for _, text := range []string{"by noon", "by nine", "by noon" /* that again: delivered twice */} {
		if got := s.accept(edited("a", text)); got != seq {
			t.Errorf("%q is row %d", text, got)
		}
	}
	s.later(time.Second)
	id, read := s.joined()
	if !slices.Equal(read, []string{"by nine"}) {
		t.Errorf("read is %q", read)
	}
	if r := s.row(seq); !r.typed {
		t.Error("what the owner typed does not count as typed")
	}
	s.accept(edited("a", "by nine ")) // the preview of a link
	s.accept(edited("a", "by noon"))  // seen before
	after := s.accept(edited("a", "by ten"))
	s.accept(edited("a", "by ten, thanks"))
	read = s.reads(id)
	want := "[edited message, before: “by nine”]\nby ten, thanks"
	if len(read) != 2 || read[1] != want {
		t.Errorf("read is %q, want %q", read, want)
	}
	if r := s.row(after); r.typed || r.kind != event.Message {
		t.Errorf("the edit is %+v", r)
	}
	s.accept(edited("a", "by ten, thank you"))
	read = s.reads(id)
	if want := "[edited message, before: “by ten, thanks”]\nby ten, thank you"; len(read) != 3 || read[2] != want {
		t.Errorf("read is %q, want %q", read, want)
	}
}

// An edit brings its files along: they take the place of what was there, and their folder is not swept. A picture that the platform sends
// again with an edit that changes nothing is not kept twice.
func TestEditsWithFiles(t *testing.T) {
	s := fresh(t)
	picture := func(id, sum, text, edits string) (event.Receipt, int64) {
		t.Helper()
		in := typed(text)
		in.ExtID, in.Origin.Edits = "m", edits
		if edits != "" {
			in.ExtID = id
		}
		in.Parts = append(in.Parts, event.Part{Kind: event.Image, Name: "attachments/" + id, Artifact: id})
		seq, _, err := s.Artifacts.Reserve(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		a := artifact(id)
		a.SHA256 = sum
		r, err := s.Artifacts.AcceptFiles(t.Context(), seq, in, []artifacts.Artifact{a})
		if err != nil {
			t.Fatal(err)
		}
		return r, seq
	}
	first, _ := picture("a1", "sum1", "look", "")
	if again, _ := picture("a2", "sum1", "look", "m"); again.New || again.Inbox != first.Inbox {
		t.Errorf("the same again: %+v", again)
	}
	other, number := picture("a3", "sum2", "look", "m")
	if !other.New || other.Inbox != first.Inbox {
		t.Errorf("another picture: %+v", other)
	}
	if gone, err := s.Abandoned(t.Context(), number); err != nil || gone {
		t.Errorf("its folder would be swept: %t, %v", gone, err)
	}
	in := edited("m", "look here")
	s.accept(in)
	if parts := one[string](s, "SELECT parts FROM inbox"); !strings.Contains(parts, "look here") || !strings.Contains(parts, "attachments/a3") || strings.Contains(parts, "a1") {
		t.Errorf("the message is %s", parts)
	}
	if n := one[int](s, "SELECT count(*) FROM artifacts"); n != 2 {
		t.Errorf("%d files have rows", n)
	}
}

// What an edit may not do: change somebody else's words, become a command or an answer, or count as typed when its message did not.
func TestWhatAnEditIsNot(t *testing.T) {
	foreign := edited("a", "give it to me")
	foreign.Origin.Person = "2"
	elsewhere := edited("a", "give it to me")
	elsewhere.ReplyTo = "chat:2"
	passed := typed("as he says")
	passed.Typed, passed.Tainted = false, true
	help := typed("/help")
	help.Kind = event.Command
	for name, c := range map[string]struct {
		first, edit event.In
		text        string // of the first row afterwards
		rows        int
		typed       bool // the newest row counts as typed
	}{
		"somebody else's":          {typed("for you"), foreign, "for you", 1, true},
		"in another chat":          {typed("for you"), elsewhere, "for you", 1, true},
		"of what was passed on":    {passed, edited("a", "run df"), "run df", 1, false},
		"into a command":           {typed("hello"), edited("a", "/stop"), "/stop", 1, true},
		"of a command":             {help, edited("a", "/stop"), "/help", 1, true},
		"of a command, into words": {help, edited("a", "help me"), "/help", 2, false},
		"of nothing that is known": {typed("for you"), edited("b", "run df"), "for you", 2, false},
	} {
		s := fresh(t)
		c.first.ExtID = "a"
		seq := s.accept(c.first)
		s.accept(c.edit)
		last := one[int64](s, "SELECT max(seq) FROM inbox")
		first, newest := s.row(seq), s.row(last)
		n := one[int](s, "SELECT count(*) FROM inbox")
		if first.text != c.text || first.kind != c.first.Kind || n != c.rows || newest.typed != c.typed || last != seq && newest.kind != event.Message {
			t.Errorf("%s: the message is %q (%s), of %d rows; typed %t", name, first.text, first.kind, n, newest.typed)
		}
	}
}

// Who deletes a message before it is read takes it back; what was read stays, and nobody takes back what somebody else wrote.
func TestTakenBack(t *testing.T) {
	s := fresh(t)
	in := typed("oh no")
	in.ExtID = "a"
	seq := s.accept(in)
	back := func(person string, chat event.Address, ext string) {
		t.Helper()
		if err := s.Inbox.TakeBack(t.Context(), channels.Withdrawal{Source: "chat", ExtID: ext, Person: person, Chat: chat}); err != nil {
			t.Fatal(err)
		}
	}
	back("2", chat, "a")
	back("", chat, "a")
	back("1", "chat:2", "a")
	back("1", chat, "b")
	if r := s.row(seq); r.state != "queued" {
		t.Fatalf("taken back by nobody: %+v", r)
	}
	back("1", chat, "a")
	if r := s.row(seq); r.state != "dropped" || !strings.Contains(r.reason, "deleted") {
		t.Errorf("%+v", r)
	}
	in.ExtID = "c"
	seq = s.accept(in)
	s.later(time.Second)
	s.done(s.take())
	back("1", chat, "c")
	if r := s.row(seq); r.state != "done" {
		t.Errorf("what was read: %+v", r)
	}
}

// C6: what the owner writes in a group is named as his, with the rights of a group; what others write there is not.
func TestTheOwnerInAGroup(t *testing.T) {
	for person, lesser := range map[string]bool{"1": true, "2": false, "": false} {
		s := fresh(t, func(s *testStore) { s.owner = []event.Address{"chat:1"} })
		in := message("hob: hi")
		in.Trust, in.Typed, in.Session, in.Origin.Person = event.Known, false, "chat:family", person
		s.accept(in)
		s.later(time.Second)
		s.take()
		got := one[string](s, "SELECT coalesce(envelope ->> 'lesser', 0) || ' ' || trust FROM items WHERE kind = 'input'")
		if want := map[bool]string{true: "1 known", false: "0 known"}[lesser]; got != want {
			t.Errorf("person %q: %s, want %s", person, got, want)
		}
	}
}
