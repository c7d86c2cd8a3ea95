package markup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"hob/channels/markup"
)

// sequences are those that the terminal form writes.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestTerminalScreens compares answers with screens that are kept as text. To accept a change: UPDATE=1 go test.
func TestTerminalScreens(t *testing.T) {
	for name, s := range map[string]markup.Screen{
		"80-color":  {Width: 80, Color: true, UTF8: true},
		"80-plain":  {Width: 80, UTF8: true},
		"40-ascii":  {Width: 40},
		"200-color": {Width: 200, Color: true, UTF8: true},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join("testdata", "terminal", "answer.md"))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(markup.Terminal(s).Render(string(source)).Text, "\x1b", "␛") + "\n"
			file := filepath.Join("testdata", "terminal", name+".txt")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the screen is not that of %s:\n%s", file, got)
			}
		})
	}
}

// TestTerminalHostile: whatever an answer contains, its lines fit, contain only hob's own sequences, and end what they begin.
func TestTerminalHostile(t *testing.T) {
	for name, text := range map[string]string{
		"sequences": "a \x1b[2J\x1b[H b \x1b]0;title\x07 c \x1b]8;;http://e.org\x1b\\link \x9b31m \x1bc \r\b\b &#27;[31m",
		"bidi":      "\u202eevil\u202c `\u202ecode` [\u202elabel](http://e.org/\u202ea)\n\n    \u2066indented",
		"one line":  strings.Repeat("x", 1<<20),
		"one word":  "**" + strings.Repeat("日本", 1<<18) + "**",
		"code":      "```\n" + strings.Repeat("y\t", 1<<18) + "\n```",
		"table":     strings.Repeat("|a", 500) + "|\n" + strings.Repeat("|-", 500) + "|\n" + strings.Repeat("|b", 500) + "|",
		"marks":     strings.Repeat("z\u0301\u0301\u0301", 9999),
		"deep":      strings.Repeat("> ", 400) + "deep\n" + strings.Repeat("- ", 400) + "deep",
	} {
		for _, s := range []markup.Screen{{Width: 80, Color: true, UTF8: true}, {Width: 10, Color: true}, {Width: 1}, {}} {
			t.Run(fmt.Sprintf("%s %d", name, s.Width), func(t *testing.T) { checkScreen(t, s, markup.Terminal(s).Render(text).Text) })
		}
	}
}

// TestTerminalProperties: any text keeps to the screen.
func TestTerminalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"word ", "\n", "\n\n", "# ", "- ", "1. ", "> ", "`", "```\n", "**", "_", "| a | b |\n|-|-|\n", "日本", "👩‍👩‍👧", "\x1b[31m", "\u202e", "é", "[a](http://b.c)", "    ", "\t", "- [x] "}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "text"), "")
		s := markup.Screen{Width: rapid.IntRange(2, 90).Draw(t, "width"), Color: rapid.Bool().Draw(t, "color"), UTF8: rapid.Bool().Draw(t, "utf8")}
		checkScreen(t, s, markup.Terminal(s).Render(text).Text)
	})
}

// checkScreen checks a rendered text line by line.
func checkScreen(t failer, s markup.Screen, text string) {
	if s.Width == 0 {
		s.Width = 80
	}
	for line := range strings.SplitSeq(text, "\n") {
		if all := sequences.FindAllString(line, -1); len(all) > 0 && (!s.Color || all[len(all)-1] != "\x1b[0m") {
			t.Fatalf("%q has a sequence that it does not end", line)
		}
		bare := sequences.ReplaceAllString(line, "")
		if w := markup.Width(bare); w > max(s.Width, 2) {
			t.Fatalf("%q has %d columns, the screen %d", bare, w, s.Width)
		}
		for _, r := range bare {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) && r != 0x200E && r != 0x200F || !s.UTF8 && r > 0x7E {
				t.Fatalf("%q has %U", bare, r)
			}
		}
	}
}
