package store_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/store"
)

// exchanged makes the two lists of a conversation from a line such as "a 2 b20 a": hob answers at a letter a; b with a number is a reply of that many
// characters; p is a further part of the last answer; a number alone lets that many seconds pass, and each thing takes a tenth of one.
func exchanged(line string) (answers []store.SentAnswer, replies []store.ReplyTo) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for word := range strings.FieldsSeq(line) {
		n := 0
		for _, c := range strings.TrimLeft(word, "b") {
			if c != 'a' && c != 'p' {
				n = 10*n + int(c-'0')
			}
		}
		now = now.Add(100 * time.Millisecond)
		switch word[0] {
		case 'a':
			answers = append(answers, store.SentAnswer{From: now, To: now})
		case 'p':
			answers[len(answers)-1].To = now
		case 'b':
			replies = append(replies, store.ReplyNow(strings.Repeat("ü", n), now))
		default:
			now = now.Add(time.Duration(n) * time.Second)
		}
	}
	return answers, replies
}

// Whose replies come faster than a person writes, how many times in a row.
func TestVolleys(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want int
	}{
		"nothing was said":                    {"b20", 0},
		"nobody answers":                      {"a a a", 0},
		"two programs":                        {"a b20 a b20 a b20 a b20 a b20", 5},
		"programs that think":                 {"a 20 b400 a 30 b400 a 25 b400", 3},
		"short words, at once":                {"a 4 b2 a 4 b2", 2},
		"short words of a person":             {"a 5 b2 a 6 b2 a 9 b2", 0},
		"a person takes his time once":        {"a b20 a b20 a 8 b20 a b20 a b20", 2},
		"a person types for a while":          {"a 41 b400", 0},
		"nobody types for ever":               {"a 61 b5000 a 59 b5000", 1},
		"many words to one answer":            {"a b2 b2 b2 b2 b2 b2", 1},
		"slow, and quick words after it":      {"a 20 b2 b2 b2", 0},
		"two answers to one message":          {"a a b2 a a b2", 2},
		"what somebody else was told between": {"a b20 a b20 a a b20", 3},
		"what he wrote before":                {"b2 b2 b2 b2 a b2", 1},
		"replies to the first of two parts":   {"a b20 p a b20 p a b20", 3},
		"replies to the last of them":         {"a 30 p 2 b20 a 30 p 2 b20", 2},
		"a slow reply to the first of them":   {"a 6 b20 p a 6 b20", 0},
		"the last answer has no reply yet":    {"a b2 a b2 a", 2},
	} {
		if got := store.InstantReplies(exchanged(c.line)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
