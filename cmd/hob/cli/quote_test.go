package cli_test

import (
	"os/exec"
	"testing"

	"hob/cmd/hob/cli"
)

// A quoted text is one word of a shell, and the shell reads the same text from it.
func TestQuote(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Log("there is no sh: only the text is compared")
	}
	for _, c := range []struct{ text, want string }{
		{"", "''"},
		{"/home/ann/.hob", "/home/ann/.hob"},
		{"user@host:a/b+c=d,e~1_%20-x", "user@host:a/b+c=d,e~1_%20-x"},
		{"my hob", "'my hob'"},
		{"it's", `'it'\''s'`},
		{"''", `''\'''\'''`},
		{"$HOME `id` $(id)", "'$HOME `id` $(id)'"},
		{`a\b"c`, `'a\b"c'`},
		{"a\nb\tc\n", "'a\nb\tc\n'"},
		{"*?[a]{b,c}!#&|;<>()", "'*?[a]{b,c}!#&|;<>()'"},
		{"Grüße", "'Grüße'"},
		{"~", "'~'"},
		{"~root/x", "'~root/x'"},
		{"HOME=~/x", "'HOME=~/x'"},
		{"a:~/x", "'a:~/x'"},
		{"=ls", "'=ls'"},
		{"-n", "-n"},
	} {
		got := cli.Quote(c.text)
		if got != c.want {
			t.Errorf("%q is quoted as %s, want %s", c.text, got, c.want)
		}
		if sh == "" {
			continue
		}
		out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+got).Output() // #nosec G204 -- the point of the test
		if err != nil || string(out) != c.text {
			t.Errorf("the shell reads %q from %s (%v), want %q", out, got, err, c.text)
		}
	}
}
