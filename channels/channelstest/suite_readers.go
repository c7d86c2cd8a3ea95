package channelstest

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// If a platform has a key or a look-up, a repeated send arrives once, or is found.
func keysAndLooks(t *testing.T, w World) {
	ch := sender(t, w)
	d := delivery(w, "said once")
	id, err := ch.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	f, finds := ch.(channels.Finder)
	switch repeats := channels.AbilitiesOf(ch).Repeats; {
	case repeats == channels.ByKey:
		if _, err := ch.Send(t.Context(), d); err != nil || len(w.Sent()) != 1 {
			t.Errorf("sent twice under one key: %v, arrived %q", err, w.Sent())
		}
	case repeats == channels.Marked:
		t.Skip("there is no key, and nothing can be read back")
	}
	if !finds {
		return
	}
	if got, found, err := f.Find(t.Context(), d); err != nil || !found || got != id {
		t.Errorf("found %q, %v, %v; want %q", got, found, err, id)
	}
	if got, found, err := f.Find(t.Context(), delivery(w, "never said")); found || err == nil && got != "" {
		t.Errorf("what was never said was found as %q, %v", got, err)
	}
}

// A text grows by edits. A deleted message can never be edited.
func growingTexts(t *testing.T, w World) {
	ch := sender(t, w)
	e, ok := ch.(channels.Editor)
	switch {
	case !ok:
		t.Skip("messages stay as they are")
	case w.Readers.Text == nil:
		t.Fatal("it edits, and no test sees it: World.Readers.Text is missing")
	}
	d := delivery(w, "a")
	id, err := ch.Send(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a b", "a b <c> & *d*", "done"} {
		d.Body = text
		if err := e.Edit(t.Context(), d, id); err != nil {
			t.Fatalf("edit to %q: %v", text, err)
		}
	}
	if got := w.Readers.Text(id); got != "done" || len(w.Sent()) != 1 {
		t.Errorf("there stands %q; %d messages arrived, want one", got, len(w.Sent()))
	}
	if err := e.Edit(t.Context(), d, "no such id"); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("an id that cannot be: %v, want ErrPermanent", err)
	}
	if w.Readers.Remove == nil {
		return
	}
	w.Readers.Remove(id)
	d.Body = "too late"
	if err := e.Edit(t.Context(), d, id); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("what is gone: %v, want ErrPermanent", err)
	}
}

// Choices are buttons; pressing one has the effect of typing its text.
func buttons(t *testing.T, w World) {
	if !channels.AbilitiesOf(w.Open()).Buttons {
		t.Skip("there are no buttons: the numbers in the text serve")
	}
	if w.Readers.Buttons == nil || w.People.Press == nil {
		t.Fatal("it has buttons, and no test sees them: World.Readers.Buttons and World.People.Press are missing")
	}
	s := w.harness(t)
	ch, err := s.Host.Channel(w.Name)
	if err != nil {
		t.Fatal(err)
	}
	d := delivery(w, "May I?")
	d.Choices = []channels.Choice{{Label: "Yes", Data: "/approve K7Q2"}, {Label: "No", Data: "/deny K7Q2"}}
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := w.Readers.Buttons(); !slices.Equal(got, []string{"Yes", "No"}) {
		t.Errorf("the buttons say %q", got)
	}
	wait(t, s.In, "the press coming back", w.has(w.People.Press("No")))
	if r := s.In.Rows()[0]; r.Text() != "/deny K7Q2" || r.Kind != event.Command || r.Trust != event.Owner {
		t.Errorf("the press came as %+v", r)
	}
}

// A file arrives unchanged, with its name and its caption.
func filesGoOut(t *testing.T, w World) {
	ch := sender(t, w)
	most := channels.AbilitiesOf(ch).MaxFile
	switch {
	case most == 0:
		t.Skip("it carries no files: they are named in the text")
	case w.Readers.Files == nil:
		t.Fatal("it carries files, and no test sees them: World.Readers.Files is missing")
	}
	content := strings.Repeat("report, ", 1000)
	d := delivery(w, "the report")
	d.File = Enclosed("report für Sie.pdf", "application/pdf", content)
	if _, err := ch.Send(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	files := w.Readers.Files()
	if len(files) != 1 || files[0].Name != d.File.Name || string(files[0].Content) != content || !strings.Contains(files[0].Caption, "the report") {
		t.Errorf("arrived: %.300q", files)
	}
	d.File.Open = func(context.Context) (io.ReadSeekCloser, error) { return nil, os.ErrNotExist }
	if _, err := ch.Send(t.Context(), d); err == nil || len(w.Readers.Files()) != 1 {
		t.Errorf("a file that is gone: %v; %d arrived", err, len(w.Readers.Files()))
	}
	if w.Fail == nil {
		return
	}
	if w.Readers.Refuse != nil { // C2
		w.Readers.Refuse()
	} else {
		w.Fail(Refused)
	}
	d = delivery(w, "a second one")
	d.File = Enclosed("second.pdf", "application/pdf", content)
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("a file that is refused: %v, want ErrPermanent", err)
	}
}

// The typing sign appears where it was requested.
func typingSign(t *testing.T, w World) {
	ch := sender(t, w)
	y, ok := ch.(channels.Typer)
	switch {
	case !ok:
		t.Skip("there are no signs of typing")
	case w.Readers.Signs == nil:
		t.Fatal("it shows signs, and no test sees them: World.Readers.Signs is missing")
	}
	before := w.Readers.Signs()
	if err := y.Typing(t.Context(), w.To); err != nil {
		t.Fatal(err)
	}
	if got := w.Readers.Signs() - before; got != 1 {
		t.Errorf("%d signs were shown", got)
	}
	if err := y.Typing(t.Context(), event.Address(w.Name+":../no such place")); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("in a place that cannot be: %v, want ErrPermanent", err)
	}
}

// The account id stays the same.
func account(t *testing.T, w World) {
	one, ok := w.Open().(channels.Accounted)
	if !ok {
		t.Skip("it does not say which account it has")
	}
	id, err := one.Account(t.Context())
	if err != nil || id == "" {
		t.Fatalf("account %q, %v", id, err)
	}
	if same, ok := w.Open().(channels.Accounted); ok {
		if again, err := same.Account(t.Context()); err != nil || again != id {
			t.Errorf("asked again it is %q, %v; want %q", again, err, id)
		}
	}
}

// Ended connections leave no sockets open.
func sockets(t *testing.T, w World) {
	if w.Account.Drop == nil {
		t.Skip("a real server, or a fake that drops nobody")
	}
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted on Linux only")
	}
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	// A reader that has not read anything yet has no position from which a platform could repeat.
	wait(t, in, "receiving", w.has(w.Say("hello")))
	before := open()
	for range 10 {
		w.Account.Drop()
		w.Listening(t.Context())
	}
	wait(t, in, "receiving", w.has(w.Say("still there?")))
	Wait(t, patience, "sockets being closed", func() bool { return open() <= before+4 })
}
