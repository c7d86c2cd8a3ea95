package channels

import "time"

// How long a message of a chat waits for what its sender writes next, so that both are read together.
const (
	DebouncePause    = 500 * time.Millisecond // since the newest of them
	DebounceMax      = 3 * time.Second        // since the first of them
	DebounceMessages = 20                     // messages
)

// Debounce is until when a number of messages of one sender wait, the newest of which has come now. It is not after now when they wait no longer.
func Debounce(first time.Time, messages int, now time.Time) time.Time {
	until, end := now.Add(DebouncePause), first.Add(DebounceMax)
	switch {
	case messages >= DebounceMessages || first.After(now): // or the clock was put back
		return now
	case until.After(end):
		return end
	}
	return until
}
