package store

import (
	"time"
	"unicode/utf8"
)

// Two programs that answer each other never stop. Platforms mark most programs. The others are recognized by their speed.
const (
	BotLoopReplies = 5         // consecutive answers with an instant reply, after which hob stops answering
	BotLoopSilence = time.Hour // for that time, to that sender in that chat

	readingTime   = 5 * time.Second // no person reads an answer and replies faster than this, time after time
	typingSpeed   = 10              // characters per second of a fast typist
	longestTyping = time.Minute     // upper limit of the typing time: a reply after this is never instant
)

// SentAnswer is an answer of hob in a chat, with the times at which its first and last part were sent.
type SentAnswer struct{ From, To time.Time }

// ReplyTo is a message in a chat: the facts that show whether a person wrote it.
type ReplyTo struct {
	At     time.Time // time of receipt
	Length int       // in characters
}

// ReplyNow returns the facts about a message that arrives now.
func ReplyNow(text string, now time.Time) ReplyTo {
	return ReplyTo{At: now, Length: utf8.RuneCountInString(text)}
}

// instant reports whether the reply came faster than a person can read and type. A reply before the last part counts from the first part.
func (r ReplyTo) instant(answer SentAnswer) bool {
	answered := answer.From
	if !r.At.Before(answer.To) {
		answered = answer.To
	}
	least := max(readingTime, min(time.Duration(r.Length)*time.Second/typingSpeed, longestTyping))
	return r.At.Sub(answered) < least
}

// InstantReplies counts the most recent answers in a chat that were each replied to instantly, without a slower one in between. Both lists
// are oldest first; the replies are those of one sender. Only the first reply to an answer counts. An answer without a reply, because it
// was meant for somebody else or hob sent two messages, is skipped.
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
