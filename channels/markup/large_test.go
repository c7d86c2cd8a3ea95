//go:build unix

package markup_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/channels/markup"
)

// Texts that make Markdown parsers slow: some took minutes, or all memory, because a step scanned the whole
// text for each of its characters. The test measures processor time, on which other programs have no
// influence.
func TestLargeTextsAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many megabytes")
	}
	const size = 256 << 10
	units := []string{
		"a", ">", "> ", "- ", "1. ", "*a ", "*_~~a", "[", "![", "[a](", "]", "`a", "<", "<a ", "<!--", "&", "|a|b\n", "a\n", "a\n\n", "- a\n", "[a]: b\n", "[a]",
		"\u0301", "\u202Ea", "😀", "```\n", "\\", "a@", "www.", "http://a.",
	}
	form := markup.Telegram()
	for _, unit := range units {
		began := spent(t)
		for _, part := range form.Split(strings.Repeat(unit, size/len(unit))) {
			if size := form.Size(form.Render(part)); size > form.Limit {
				t.Errorf("%q: a part has %d units", unit, size)
			}
		}
		if took := spent(t) - began; took > 15*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}

// spent returns the processor time of this process.
func spent(t *testing.T) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
