package store

import (
	"time"
	"unicode/utf8"
)

// Two programs that answer each other never stop. Platforms mark most programs; for the others there is how fast they write.
const (
	BotLoopReplies = 5         // answers in a row, each replied to faster than a person writes; then hob says no more
	BotLoopSilence = time.Hour // to that sender, in that chat

	readingTime   = 5 * time.Second // nobody reads an answer and replies to it sooner, time after time
	typingSpeed   = 10              // characters that a fast writer types in a second, for as long as he likes
	longestTyping = time.Minute     // however long a reply is: what takes longer was not instant
)

// SentAnswer is an answer of hob's in a chat: when its first part was sent, and when its last one.
type SentAnswer struct{ From, To time.Time }

// ReplyTo is a message in a chat, as far as it shows whether a person wrote it.
type ReplyTo struct {
	At     time.Time // when it came
	Length int       // in characters
}

// ReplyNow is a message that comes now.
func ReplyNow(text string, now time.Time) ReplyTo {
	return ReplyTo{At: now, Length: utf8.RuneCountInString(text)}
}

// instant reports whether no person could have read an answer and written the reply. Who replies before all parts have come has read the first.
func (r ReplyTo) instant(answer SentAnswer) bool {
	answered := answer.From
	if !r.At.Before(answer.To) {
		answered = answer.To
	}
	least := max(readingTime, min(time.Duration(r.Length)*time.Second/typingSpeed, longestTyping))
	return r.At.Sub(answered) < least
}

// InstantReplies counts how many of hob's last answers in a chat, without one in between, had a reply that came faster than a person writes. Both lists
// are oldest first; the replies are those of one sender. What he wrote after the first reply to an answer says nothing more. An answer that
// he did not reply to, because it was meant for somebody else, or because hob said two things, is passed over.
func InstantReplies(answers []SentAnswer, replies []ReplyTo) (n int) {
	r := 0
	for i, answer := range answers {
		for r < len(replies) && replies[r].At.Before(answer.From) {
			r++
		}
		switch {
		case r == len(replies):
			return n
		case i+1 < len(answers) && !replies[r].At.Before(answers[i+1].From):
			continue
		case replies[r].instant(answer):
			n++
		default:
			n = 0
		}
	}
	return n
}
