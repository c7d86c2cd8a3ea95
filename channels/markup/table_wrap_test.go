package markup_test

import (
	"strings"
	"testing"

	"hob/channels/markup"
)

// TestWrappedTables (N33): a table that is too wide for a screen wraps its cells at words; on a narrow screen, and with too many columns, its rows
// are shown one by one. A message for a chat is not wrapped.
func TestWrappedTables(t *testing.T) {
	const seven = "| day | morning | noon | evening | night | who | note |\n|---|---|---|---|---|---|---|\n" +
		"| Monday | water the garden | eat soup with bread | read a book in bed | sleep | Sam | call mum back |\n| Tuesday | run | - | - | - | - | - |\n"
	for width, columns := range map[int]bool{60: false, 80: true, 120: true} {
		got := markup.Terminal(markup.Screen{Width: width, UTF8: true}).Render(seven).Text
		if strings.Contains(got, "┼") != columns || strings.Contains(got, "morning: water the garden") == columns {
			t.Errorf("at %d columns:\n%s", width, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if markup.Width(line) > width {
				t.Errorf("a line of %d in %d: %q", markup.Width(line), width, line)
			}
		}
		for word := range strings.FieldsSeq("water the garden eat soup with bread read a book in bed sleep Sam call mum back Tuesday run") {
			if !strings.Contains(got, word) {
				t.Errorf("at %d columns %q is lost:\n%s", width, word, got)
			}
		}
	}
	many := strings.Repeat("|word", 12) + "|\n" + strings.Repeat("|-", 12) + "|\n" + strings.Repeat("|a longer cell", 12) + "|\n"
	if got := markup.Terminal(markup.Screen{Width: 80, UTF8: true}).Render(many).Text; strings.Contains(got, "┼") {
		t.Errorf("twelve columns in 80:\n%s", got)
	}
	if got := markup.Plain().Render(seven).Text; strings.Contains(got, "-+-") {
		t.Errorf("a message:\n%s", got)
	}
}
