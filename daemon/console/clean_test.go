package console_test

import (
	"encoding/json"
	"testing"

	"hob/daemon/console"
)

// T14: a terminal acts on nothing in a text, nor in a JSON document, and the document keeps its meaning.
func TestClean(t *testing.T) {
	const text = "a\u009b31mb\u202ec\u2028\x7fd\\x9b\n"
	if got, want := console.Clean(text), `a\x9b31mb\u202ec\u2028\x7fd\x9b`+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	doc, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	clean := console.CleanJSON(string(doc))
	var back string
	if err := json.Unmarshal([]byte(clean), &back); err != nil || back != text || console.Clean(clean) != clean {
		t.Errorf("%s: %q, %v", clean, back, err)
	}
}
