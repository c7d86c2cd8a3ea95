package channels_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/channels"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"empty", "", 10, nil},
		{"only white space", " \n\n ", 10, nil},
		{"fits", "hello", 5, []string{"hello"}},
		{"paragraphs", "one two\n\nthree", 10, []string{"one two\n\n", "three"}},
		{"lines", "one two\nthree", 10, []string{"one two\n", "three"}},
		{"words", "one two three", 10, []string{"one two ", "three"}},
		{"characters", "äöüäöü", 5, []string{"äö", "üä", "öü"}},
		{"a large character", "😀😀", 4, []string{"😀", "😀"}},
		{"limit below a character", "😀x", 1, []string{"😀", "x"}},
		{"a border too early is none", "a bcdefghijklmnop", 10, []string{"a bcdefghi", "jklmnop"}},
		{"not UTF-8", "\x80\x80\x80\x80\x80\x80", 4, []string{"\x80\x80\x80\x80", "\x80\x80"}},
		{"white space between", "abcd" + strings.Repeat(" ", 12) + "efgh", 4, []string{"abcd", "efgh"}},
		{
			"a fence", "intro\n```go\n" + strings.Repeat("line of code\n", 6) + "```\nend", 70,
			[]string{
				"intro\n```go\n" + strings.Repeat("line of code\n", 2) + "```",
				"```go\n" + strings.Repeat("line of code\n", 4) + "```\nend",
			},
		},
		{
			"a long fence", "```go\n" + strings.Repeat("line of code\n", 8) + "```", 70,
			[]string{
				"```go\n" + strings.Repeat("line of code\n", 3) + "```",
				"```go\n" + strings.Repeat("line of code\n", 3) + "```",
				"```go\n" + strings.Repeat("line of code\n", 2) + "```",
			},
		},
		{
			"a long line in a fence", "~~~\n" + strings.Repeat("word ", 16) + "\n~~~", 70,
			[]string{
				"~~~\n" + strings.Repeat("word ", 9) + "\n~~~",
				"~~~\n" + strings.Repeat("word ", 7) + "\n~~~",
			},
		},
		{
			"no fence in the middle of a line", strings.Repeat("word ", 12) + "```x``` " + strings.Repeat("more ", 8), 70,
			[]string{strings.Repeat("word ", 9), "word word word ```x``` " + strings.Repeat("more ", 8)},
		},
	} {
		got := channels.Split(tc.text, tc.limit)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func checkParts(t interface{ Errorf(string, ...any) }, text string, limit int) {
	parts := channels.Split(text, limit)
	limit = max(limit, utf8.UTFMax)
	for i, p := range parts {
		if len(p) > limit {
			t.Errorf("part %d has %d bytes, limit %d", i, len(p), limit)
		}
		if strings.TrimSpace(p) == "" {
			t.Errorf("part %d is empty: %q", i, p)
		}
		if utf8.ValidString(text) && !utf8.ValidString(p) {
			t.Errorf("part %d is cut inside a character: %q", i, p)
		}
	}
	if rest, ok := rebuild(parts, text); !ok {
		t.Errorf("text is lost in %q from %q on; text %q", parts, rest, text)
	}
}

// rebuild takes the parts off the text again; between them there may be white space that was left out, around them fences that were closed and opened again.
func rebuild(parts []string, text string) (rest string, ok bool) {
	if len(parts) == 0 {
		return text, strings.TrimSpace(text) == ""
	}
	for skip := 0; ; skip++ {
		for _, body := range undecorated(parts[0]) {
			if after, found := strings.CutPrefix(text[skip:], body); found && body != "" {
				if rest, ok := rebuild(parts[1:], after); ok {
					return rest, true
				}
			}
		}
		if skip == len(text) || strings.TrimSpace(text[:skip+1]) != "" {
			return text, false
		}
	}
}

// undecorated is a part as it may have stood in the text.
func undecorated(part string) []string {
	all := []string{part}
	if line, rest, ok := strings.Cut(part, "\n"); ok && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")) {
		all = append(all, rest)
	}
	for _, p := range slices.Clone(all) {
		trimmed := strings.TrimRight(strings.TrimRight(p, "`"), "~")
		if trimmed != p {
			all = append(all, trimmed, strings.TrimSuffix(trimmed, "\n"))
		}
	}
	return all
}

func TestSplitLosesNothing(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "word ", "Ünïcödé ", "\n", "\n\n", "```go\n", "\n```\n", "~~~\n", "`x`", "   ", "😀", "\r\n", strings.Repeat("long", 20)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
		checkParts(t, text, rapid.IntRange(0, 200).Draw(t, "limit"))
	})
}

func TestSplitKeepsPlainTextExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zäöü .\n]{0,300}[a-z]`).Draw(t, "text")
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ' ' }), " ")
		if got := strings.Join(channels.Split(text, rapid.IntRange(4, 100).Draw(t, "limit")), ""); got != text {
			t.Errorf("joined %q, want %q", got, text)
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add("intro\n```go\ncode\n```\nend", 70)
	f.Add("~~~~ x\n```\n~~~\n~~~~", 64)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) < 2000 && limit < 300 {
			checkParts(t, text, limit)
		}
	})
}
