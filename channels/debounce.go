package channels

import "time"

// Debounce: how long a message waits for the next one of the same sender, so that the agent reads both together.
const (
	DebouncePause    = 500 * time.Millisecond // since the newest of them
	DebounceMax      = 3 * time.Second        // since the first of them
	DebounceMessages = 20                     // messages
)

// Debounce returns until when a sender's messages wait, the newest of which has just arrived. A result that is not after now ends the wait.
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
