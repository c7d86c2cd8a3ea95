// Package display says how commands and what they write are shown: short, cut in the middle, without what steers a terminal. It is pure.
package display

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Brief is the first line of a command, cut for a list.
func Brief(command string) string {
	first, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(first); len(r) > 120 {
		first, more = string(r[:120]), true
	}
	if more {
		return first + " …"
	}
	return first
}

// Span is a length of time in words.
func Span(d time.Duration) string {
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

// Excerpt is an output of at most keep characters: its head and, behind missed bytes that are not there any more, its tail. What is cut
// away is said. It is always valid UTF-8.
func Excerpt(head []byte, missed int64, tail []byte, keep int) string {
	if missed == 0 && utf8.RuneCount(head) <= keep {
		return Valid(head)
	}
	if missed == 0 {
		tail = head
	}
	first, last := First(head, keep/2), Last(tail, keep/2)
	cut := missed + int64(len(head)-len(first)) + int64(len(tail)-len(last))
	if missed == 0 {
		cut = int64(len(head) - len(first) - len(last))
	}
	return Joined(first, cut, last)
}

// Joined puts a head and a tail together, and says how many bytes are missing in between.
func Joined(head []byte, cut int64, tail []byte) string {
	return fmt.Sprintf("%s\n… [%s of output cut here] …\n%s", Valid(head), Bytes(cut), Valid(tail))
}

// Valid is text as UTF-8, whatever it was.
func Valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// First is the first n characters.
func First(b []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return b[:end]
}

// Last is the last n characters.
func Last(b []byte, n int) []byte {
	start := len(b)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return b[start:]
}

// Bytes is a number of bytes in words.
func Bytes(n int64) string {
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

// Plain is what a terminal's output says, without colours and the like. A line that was overwritten (\r) is shown as it stood last.
func Plain(text string) string {
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
