package channels

import (
	"strings"
	"time"

	"hob/channels/markup"
)

// HeldBack is a message that was held back during quiet hours.
type HeldBack struct {
	ID   int64
	Body string
	At   time.Time // when it was queued
}

// maxSingle is how many held-back messages are delivered one by one. If there are more, they become one
// digest.
const maxSingle = 3

// digest returns the text of a row. Normally that is its own text. If the row is the first of more than
// maxSingle messages held back during quiet hours, it is the text of all of them, each closed in itself and
// with its time; joined lists the other rows.
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
