package document_test

import (
	"errors"
	"testing"

	"hob/config/document"
)

// A section goes with its comments and the sections in it; all else stays byte by byte.
func TestRemove(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"# top\n[a]\nx = 1\n\n[s.one]\n# about it\nx = 1\ny = [\n 1, # one\n]\n\n[s.two] # stays\nx = 1\n": "# top\n[a]\nx = 1\n\n[s.two] # stays\nx = 1\n",
		"[s.one]\nx = 1\n": "",
		"[s.one]\nx = 1\n[s.one.env]\nA = \"1\"\n[b]\ny = 1\n": "[b]\ny = 1\n",
		"[s]\none.x = 1\none.y = 2\ntwo.x = 1\n":               "[s]\ntwo.x = 1\n",
		"[s]\none = { x = 1 }\ntwo = { x = 1 }\n":              "[s]\ntwo = { x = 1 }\n",
		"s = { one = { x = 1 }, two = { x = 1 } }\n":           "s = { two = { x = 1 } }\n",
		"[s.one]\r\nx = 1\r\n\r\n[b]\r\ny = 1\r\n":             "\r\n[b]\r\ny = 1\r\n",
		"[s.one]\nx = 1\n[b]\ny = 1\n[s.one.env]\nA = 1":       "[b]\ny = 1\n",
		"[b]\ny = 1\n": "[b]\ny = 1\n",
	} {
		got, err := document.Remove([]byte(doc), []string{"s", "one"})
		if err != nil || string(got) != want {
			t.Errorf("%q\n got %q, %v\nwant %q", doc, got, err, want)
		}
	}
	if _, err := document.Remove([]byte("[[s.one]]\nx = 1\n"), []string{"s", "one", "x"}); err == nil || !errors.Is(err, document.ErrByHand) {
		t.Errorf("a key in a list of tables: %v", err)
	}
	if _, err := document.Remove([]byte("[s"), []string{"s"}); err == nil {
		t.Error("a document that is no TOML was changed")
	}
}
