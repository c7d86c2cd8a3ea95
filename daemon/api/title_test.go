package api_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hob/daemon/api"
)

func TestTitle(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n\t ", ""},
		{"Water the plants", "Water the plants"},
		{"Water the plants. Then call Ana.", "Water the plants."},
		{"Is it raining? I want to go out", "Is it raining?"},
		{"Wake me at 8.30 tomorrow, e.g. with a song. Thanks", "Wake me at 8.30 tomorrow, e.g. with a song."},
		{"Ask Dr. Weiss about the J. Smith file. Soon", "Ask Dr. Weiss about the J. Smith file."},
		{"Come at 8. Then eat", "Come at 8."},
		{"first line\nsecond line", "first line"},
		{"\n\n  two   spaces\tand a tab ", "two spaces and a tab"},
		{"庭に水をやって。明日も。", "庭に水をやって。"},
		{long, strings.TrimSpace(strings.Repeat("word ", 11)) + "…"},
		{strings.Repeat("x", 61), strings.Repeat("x", 59) + "…"},
		{strings.Repeat("é", 60), strings.Repeat("é", 60)},
		{"red \x1b[31mtext\x07 \u202egnp.exe", "red [31mtext gnp.exe"},
		{"\xff\xfebroken", "broken"},
	} {
		if got := api.Title(c.in); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("Hello there. General")
	f.Fuzz(func(t *testing.T, in string) {
		got := api.Title(in)
		if utf8.RuneCountInString(got) > 60 || !utf8.ValidString(got) || strings.TrimSpace(got) != got {
			t.Errorf("%q: %q", in, got)
		}
		for _, r := range got {
			if !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) {
				t.Errorf("%q has %q", got, r)
			}
		}
	})
}
