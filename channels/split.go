package channels

import (
	"strings"
	"unicode/utf8"
)

// Split cuts a text into parts of at most limit bytes, at paragraph borders where it can, else between lines,
// else between words, else between characters, never inside one. Joined together the parts are the text again,
// with two exceptions: a part of nothing but white space is left out, and a code fence that a cut falls into is
// closed at the end of one part and opened again at the start of the next.
// A limit under 4 counts as 4, the size of the largest character. An empty text has no parts.
func Split(text string, limit int) []string {
	limit = max(limit, utf8.UTFMax)
	var parts []string
	add := func(part string) {
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	open, midLine := "", false
	for text != "" {
		head, room := reopen(open, limit)
		if len(head)+len(text) <= limit {
			add(head + text)
			break
		}
		cut := border(text, room)
		chunk := text[:cut]
		open = fence(open, chunk, midLine)
		midLine = !strings.HasSuffix(chunk, "\n")
		add(head + chunk + closing(open, chunk, limit))
		text = text[cut:]
	}
	return parts
}

// small is the limit under which fences are not kept: their marks would need more room than the text.
const small = 64

// maxFence is the longest opening line that is repeated; a longer one is repeated without its words.
const maxFence = 20

// reopen is what a part starts with inside the fence open, and the room that is left for text and the closing mark.
func reopen(open string, limit int) (head string, room int) {
	if limit < small {
		return "", limit
	}
	if open != "" {
		head = open + "\n"
	}
	return head, limit - len(head) - maxFence - 1
}

// closing is what a part ends with when a fence is still open at its end.
func closing(open, chunk string, limit int) string {
	if open == "" || limit < small {
		return ""
	}
	mark := open[:run(open)]
	if strings.HasSuffix(chunk, "\n") {
		return mark
	}
	return "\n" + mark
}

// border finds the best place to cut text, over 0 and at most at room.
func border(text string, room int) int {
	within := text[:room]
	cut := 0
	for _, sep := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(within, sep); i+len(sep) > room/4 && i >= 0 {
			cut = i + len(sep)
			break
		}
	}
	if cut == 0 {
		cut = room
		for cut > 0 && room-cut < utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		if cut == 0 || !utf8.RuneStart(text[cut]) {
			cut = room // not UTF-8: any place is as good
		}
	}
	return outsideFenceLine(text, cut)
}

// outsideFenceLine moves a cut that falls into a fence's own line to the start of that line.
func outsideFenceLine(text string, cut int) int {
	start := strings.LastIndexByte(text[:cut], '\n') + 1
	if start > 0 && start < cut && run(text[start:]) > 0 {
		return start
	}
	return cut
}

// fence returns the opening line of the code fence that is open behind chunk, "" for none,
// when open was the one before it (CommonMark 0.31, section 4.5, without indented fences).
// A chunk that begins in the middle of a line has no fence there.
func fence(open, chunk string, midLine bool) string {
	if midLine {
		_, chunk, _ = strings.Cut(chunk, "\n")
	}
	for line := range strings.Lines(chunk) {
		line = strings.TrimRight(line, "\r\n \t")
		n := run(line)
		switch {
		case n == 0:
		case open == "":
			open = line
			if len(open) > maxFence {
				open = open[:min(n, maxFence)]
			}
		case line[0] == open[0] && n >= run(open) && n == len(line):
			open = ""
		}
	}
	return open
}

// run is the length of the fence mark that a line starts with, 0 when it is no fence.
func run(line string) int {
	if line == "" || (line[0] != '`' && line[0] != '~') {
		return 0
	}
	n := len(line) - len(strings.TrimLeft(line, line[:1]))
	rest, _, _ := strings.Cut(line[n:], "\n")
	if n < 3 || line[0] == '`' && strings.Contains(rest, "`") {
		return 0
	}
	return n
}
