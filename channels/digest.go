package channels

import (
	"strings"
	"time"
)

// Waiter is a message that waited through quiet hours.
type Waiter struct {
	ID   int64
	Body string
	At   time.Time // when it was queued
}

// maxSingle is how many messages may arrive one by one when it is not quiet any more.
const maxSingle = 3

// digest is what a row says: its own text, or, when it heads more than maxSingle messages that waited through quiet hours, the text of all of
// them, each with its time; joined are the others.
func (r Row) digest(now time.Time, zone *time.Location) (text string, joined []int64) {
	if len(r.Quiet) <= maxSingle {
		return r.Body, nil
	}
	var b strings.Builder
	b.WriteString("While it was quiet:")
	for i, w := range r.Quiet {
		layout := "15:04"
		if now.Sub(w.At) >= 24*time.Hour {
			layout = "2006-01-02 15:04"
		}
		b.WriteString("\n\n**" + w.At.In(zone).Format(layout) + "**\n\n" + closed(w.Body))
		if i > 0 {
			joined = append(joined, w.ID)
		}
	}
	return b.String(), joined
}

// closed is a text with an end to the code fence that it leaves open (CommonMark 0.31, section 4.5), so that what follows is not code.
func closed(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		mark := fenceMark(line)
		switch {
		case mark == "":
		case open == "" && (mark[0] == '~' || !strings.Contains(line[len(mark):], "`")):
			open = mark
		case open != "" && strings.HasPrefix(mark, open) && mark == line:
			open = ""
		}
	}
	if open == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + open
}

// fenceMark is the row of three or more backticks or tildes that a line begins with, "" when there is none.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}
