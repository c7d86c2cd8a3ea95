package channels_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func typed(text string) channels.Message {
	return channels.Message{ID: "m", From: channels.Person{ID: "7", Name: "Sam"}, Chat: channels.Chat{ID: "7"}, Text: text}
}

// draw is a source of letters that starts at a number.
func draw(from int) func(string, int) string {
	return func(alphabet string, n int) string {
		s := ""
		for i := range n {
			s += string(alphabet[(from+i)%len(alphabet)])
		}
		return s
	}
}

func TestPairing(t *testing.T) {
	p, code := channels.NewPairing("x", draw(0), start)
	if code != "ABCD-EFGH" || strings.Contains(p.Hash, "ABCD") {
		t.Fatalf("code %q, stored %q", code, p.Hash)
	}
	for _, ok := range []string{code, "abcdefgh", " ABCD EFGH\n"} {
		bound, got := p.Try(typed(ok), start)
		if got != channels.Bound || bound.Person != "7" || bound.Name != "Sam" || bound.Open(start) {
			t.Errorf("%q: %s, %+v", ok, got, bound)
		}
		if _, again := bound.Try(typed(ok), start); again != channels.NoCode {
			t.Errorf("%q was taken twice", ok)
		}
	}
}

// A text that is not a typed code costs no try, and binds nobody.
func TestPairingTakesNothingElse(t *testing.T) {
	p, code := channels.NewPairing("x", draw(0), start)
	for name, change := range map[string]func(*channels.Message){
		"in a group": func(m *channels.Message) { m.Chat.Group = "g" },
		"forwarded":  func(m *channels.Message) { m.Forwarded = true },
		"edited":     func(m *channels.Message) { m.Edits = "old" },
		"with files": func(m *channels.Message) { m.Files = []channels.Attachment{{}} },
		"by a bot":   func(m *channels.Message) { m.From.Bot = true },
		"by hob":     func(m *channels.Message) { m.From.Self = true },
		"by nobody":  func(m *channels.Message) { m.From.ID = "" },
		"by machine": func(m *channels.Message) { m.Auto = true },
		"in a text":  func(m *channels.Message) { m.Text = "the code is " + code },
		"homoglyphs": func(m *channels.Message) { m.Text = strings.Replace(code, "A", "А", 1) }, // Cyrillic
		"too short":  func(m *channels.Message) { m.Text = code[:7] },
		"empty":      func(m *channels.Message) { m.Text = "" },
	} {
		m := typed(code)
		change(&m)
		if after, got := p.Try(m, start); got != channels.NoCode || after != p {
			t.Errorf("%s: %s, %+v", name, got, after)
		}
	}
	if _, got := p.Try(typed(code), start.Add(channels.PairingLife)); got != channels.NoCode {
		t.Errorf("after its time: %s", got)
	}
}

func TestPairingGuessing(t *testing.T) {
	p, code := channels.NewPairing("x", draw(3), start)
	wrong := 0
	for i := range 10_000 {
		var got channels.Tried
		if p, got = p.Try(typed(fmt.Sprintf("%s%04d", "ABCD", i)), start); got == channels.Wrong {
			wrong++
		} else if got == channels.Bound {
			t.Fatal("a guess was taken")
		}
	}
	if wrong != channels.PairingTries {
		t.Errorf("%d guesses were looked at, want %d", wrong, channels.PairingTries)
	}
	if _, got := p.Try(typed(code), start); got != channels.NoCode {
		t.Errorf("the right code after too many wrong ones: %s", got)
	}
}
