// This file formats commands and their output for display: short, cut in the middle, without
// terminal control sequences. All its functions are pure.

package runtime

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/daemon/sys"
)

// brief returns the first line of a command, cut to 120 characters for a list.
func brief(command string) string {
	first, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(first); len(r) > 120 {
		first, more = string(r[:120]), true
	}
	if more {
		return first + " …"
	}
	return first
}

// spanText formats a duration for people.
func spanText(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
}

// excerpt returns at most keep characters of an output. The output consists of head and, after
// missed bytes that are no longer available, tail. A marker in the middle tells how much was cut.
// The result is always valid UTF-8.
func excerpt(head []byte, missed int64, tail []byte, keep int) string {
	if missed == 0 && utf8.RuneCount(head) <= keep {
		return validUTF8(head)
	}
	if missed == 0 {
		tail = head
	}
	first, last := firstBytes(head, keep/2), lastBytes(tail, keep/2)
	cut := missed + int64(len(head)-len(first)) + int64(len(tail)-len(last))
	if missed == 0 {
		cut = int64(len(head) - len(first) - len(last))
	}
	return joined(first, cut, last)
}

// joined puts a marker with the number of cut bytes between head and tail.
func joined(head []byte, cut int64, tail []byte) string {
	return fmt.Sprintf("%s\n… [%s of output cut here] …\n%s", validUTF8(head), byteCount(cut), validUTF8(tail))
}

// validUTF8 replaces invalid bytes by U+FFFD.
func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// firstBytes returns the first n characters of b.
func firstBytes(b []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return b[:end]
}

// lastBytes returns the last n characters of b.
func lastBytes(b []byte, n int) []byte {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}

// byteCount formats a number of bytes for people.
func byteCount(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// escapes matches the control sequences that programs send to a terminal (ECMA-48, 5.4 and 5.6):
// CSI, OSC with its text, and the short ones.
var escapes = sys.Regexp("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// plainText removes colours and other control sequences from a terminal's output. Of a line that
// was overwritten (\r) it keeps the last version.
func plainText(text string) string {
	text = escapes().ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
