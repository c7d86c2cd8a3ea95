package text_test

import (
	"testing"

	"hob/daemon/text"
)

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		fact, in string
		want     bool
	}{
		{"The door code is 4711.", "remember that the door code is 4711", true},
		{"The door code is 4711.", "Hello.\nmy Code of the DOOR: 4711, ok? Good.", true},
		{"The door code is 4711.", "what is the door code?", false},
		{"The door code is 4711.", "The door is blue. The code is 4711.", false},
		{"The door code is 4711.", "The outdoor code is 4711.", false},
		{"Die Tür hat den Code 4711", "die TÜR hat den code 4711!", true},
		{"Anna: 030-1234", "call Anna at 030-1234", true},
		{"zebra", "Zebra!", true},
		{"zebra", "the zebra sleeps", false},
		{"the", "is the sky blue", false},
		{"", "anything", false},
		{"- ", "", false},
	} {
		if got := text.FactOf(c.fact).In(c.in); got != c.want {
			t.Errorf("%q in %q: %v", c.fact, c.in, got)
		}
	}
	for docs, want := range map[string]bool{
		`[{"kind": "text", "text": "Hello.\nthe code is 4711"}]`: true, `[]{"content": "\u0063ode 4711"}`: true, `["code"]["4711"]`: false, `["code 4711`: false, ``: false,
	} {
		if got := text.FactOf("the code 4711").InJSON(docs); got != want {
			t.Errorf("%s: %v", docs, got)
		}
	}
	for fact, want := range map[string]string{"The door code is 4711.": "door", "Größe 12": "12", "": "", "zebra crossing": "crossing", "one-two": "one"} {
		if got := text.FactOf(fact).Longest(); got != want {
			t.Errorf("%q: %q, want %q", fact, got, want)
		}
	}
}
