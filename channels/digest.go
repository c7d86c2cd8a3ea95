package channels

import (
	"strings"
	"time"

	"hob/channels/markup"
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
// them, each with its time and whole in itself; joined are the others.
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
		b.WriteString("\n\n**" + w.At.In(zone).Format(layout) + "**\n\n" + markup.Closed(w.Body))
		if i > 0 {
			joined = append(joined, w.ID)
		}
	}
	return b.String(), joined
}
