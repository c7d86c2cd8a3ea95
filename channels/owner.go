package channels

import (
	"strings"

	"hob/daemon/event"
)

// KindOf tells a command from a message in what the owner wrote: a slash and a letter begin a command.
// Nobody else has commands: adapters must not ask it about other people's texts.
func KindOf(text string) event.Kind {
	if len(text) < 2 || text[0] != '/' {
		return event.Message
	}
	if c := text[1] | 0x20; c < 'a' || c > 'z' {
		return event.Message
	}
	return event.Command
}

// What stands behind a button whose press says something. Whatever its words are, they are no command: hob's models choose them.
const (
	ownWords     = "say:"
	foreignWords = "say~"
)

// Words is what stands behind a button whose press says something to hob. foreign: somebody else's text may have chosen the words.
func Words(label string, foreign bool) string {
	if foreign {
		return foreignWords + label
	}
	return ownWords + label
}

// wordsOf reads what Words has made.
func wordsOf(choice string) (text string, foreign, ok bool) {
	if text, ok = strings.CutPrefix(choice, ownWords); ok {
		return text, false, true
	}
	text, ok = strings.CutPrefix(choice, foreignWords)
	return text, true, ok
}
