package channels

import "time"

// Debounce limits. A message waits for the sender's next one, so that the agent reads them together.
const (
	DebouncePause    = 500 * time.Millisecond // after the newest message
	DebounceMax      = 3 * time.Second        // after the first message
	DebounceMessages = 20                     // messages
)

// Debounce returns how long the messages of a sender wait, now that the newest of them has arrived. A result
// that is not after now ends the wait.
func Debounce(first time.Time, messages int, now time.Time) time.Time {
	until, end := now.Add(DebouncePause), first.Add(DebounceMax)
	switch {
	case messages >= DebounceMessages || first.After(now): // or the clock was set back
		return now
	case until.After(end):
		return end
	}
	return until
}
