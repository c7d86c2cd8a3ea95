// This file says how commands and what they write are shown: short, cut in the middle, without what steers a terminal. It is pure.

package runtime

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// brief is the first line of a command, cut for a list.
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

// spanText is a length of time in words.
func spanText(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	default:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	}
}

// excerpt is an output of at most keep characters: its head and, behind missed bytes that are not there any more, its tail. What is cut
// away is said. It is always valid UTF-8.
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

// joined puts a head and a tail together, and says how many bytes are missing in between.
func joined(head []byte, cut int64, tail []byte) string {
	return fmt.Sprintf("%s\n… [%s of output cut here] …\n%s", validUTF8(head), byteCount(cut), validUTF8(tail))
}

// validUTF8 is text as UTF-8, whatever it was.
func validUTF8(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// firstBytes is the first n characters.
func firstBytes(b []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return b[:end]
}

// lastBytes is the last n characters.
func lastBytes(b []byte, n int) []byte {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}

// byteCount is a number of bytes in words.
func byteCount(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KB", n>>10)
	default:
		return fmt.Sprintf("%d MB", n>>20)
	}
}

// escapes are the sequences by which programs steer a terminal (ECMA-48, 5.4 and 5.6): CSI, OSC with its text, and the short ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// plainText is what a terminal's output says, without colours and the like. A line that was overwritten (\r) is shown as it stood last.
func plainText(text string) string {
	text = escapes.ReplaceAllString(text, "")
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
