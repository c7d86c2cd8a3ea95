package edit_test

import (
	"strings"
	"testing"
)

// Text that only looks like old_text is edited if exactly one place does (inputs 8.1 and 8.2); what both have in common keeps the file's characters.
func TestEditFindsTextThatLooksTheSame(t *testing.T) {
	for _, c := range []struct{ name, file, old, put, want string }{
		{"8.1, no-break space", "list in\u00a0current\n", "list in current", "list in folder", "list in\u00a0folder\n"},
		{"8.2, Word's quotes", "the “what” thing\n", `the "what" thing`, `the "why" thing`, "the “why” thing\n"},
		{"French thin space before a colon", "Note\u202f: oui\n", "Note : oui", "Note : non", "Note\u202f: non\n"},
		{"non-breaking hyphen of Word", "e\u2011mail\n", "e-mail", "e-post", "e\u2011post\n"},
		{"minus of a typesetter", "x = a − b\n", "x = a - b", "x = a - c", "x = a − c\n"},
		{"em dash", "so — then\n", "so - then", "so - now", "so — now\n"},
		{"apostrophe of macOS", "don’t\n", "don't go"[:5], "won't"[:5], "won’t\n"},
		{"ellipsis of macOS", "wait… done\n", "wait... done", "wait... over", "wait… over\n"},
		{"three dots for an ellipsis", "wait...\n", "wait…", "go…", "go...\n"},
		{"zero width space of a web page", "foo\u200bbar\n", "foobar", "foobaz", "foo\u200bbaz\n"},
		{"soft hyphen", "Donau\u00addampf\n", "Donaudampf", "Donauschiff", "Donau\u00adschiff\n"},
		{"composed for decomposed", "cafe\u0301 au lait\n", "café au lait", "café noir", "cafe\u0301 noir\n"},
		{"decomposed for composed", "café au lait\n", "cafe\u0301 au lait", "cafe\u0301 noir", "café noir\n"},
		{"the file has ASCII", "say \"hi\"\n", "say “hi”", "say “ho”", "say \"ho\"\n"},
		{"ideographic space", "姓名\u3000张\n", "姓名 张", "姓名 李", "姓名\u3000李\n"},
		{"lines in CR LF", "a\u00a0b\r\nc\r\n", "a b\nc", "a b\nd\ne", "a\u00a0b\r\nd\r\ne\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.put(t, "a.txt", c.file)
			res := f.do(t, f.edit, args{"path": "a.txt", "old_text": c.old, "new_text": c.put})
			if got := f.get(t, "a.txt"); res.IsError || got != c.want {
				t.Errorf("%+q, want %+q: %s", got, c.want, res.Content)
			}
		})
	}
}

// Guards: an exact place wins, of several that look the same none is taken and the characters are named, and what looks different is not found.
func TestEditGuessesNoPlaceThatLooksTheSame(t *testing.T) {
	f := newFixture(t)
	f.put(t, "exact.txt", "a\u00a0b\na b\n")
	if res := f.do(t, f.edit, args{"path": "exact.txt", "old_text": "a b", "new_text": "x"}); res.IsError || f.get(t, "exact.txt") != "a\u00a0b\nx\n" {
		t.Error(res.Content)
	}
	f.put(t, "two.txt", "a\u00a0b\n\na\u202fb\n")
	for _, all := range []bool{false, true} {
		res := f.do(t, f.edit, args{"path": "two.txt", "old_text": "a b", "new_text": "x", "replace_all": all})
		if !res.IsError || !strings.Contains(res.Content, "U+00A0") || !strings.Contains(res.Content, "lines 1, 3") {
			t.Error(res.Content)
		}
	}
	f.put(t, "other.txt", "a_b A.B a\tb а b\n") // the last a is Cyrillic
	if res := f.do(t, f.edit, args{"path": "other.txt", "old_text": "a b", "new_text": "x"}); !res.IsError || f.get(t, "other.txt") != "a_b A.B a\tb а b\n" {
		t.Error(res.Content)
	}
}
