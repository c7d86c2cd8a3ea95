package channels

import (
	"strings"

	"hob/daemon/event"
)

// KindOf tells a command from a message in the owner's text: a slash and a letter begin a command. Nobody
// else has commands: adapters must not call it for other people's texts.
func KindOf(text string) event.Kind {
	if len(text) < 2 || text[0] != '/' {
		return event.Message
	}
	if c := text[1] | 0x20; c < 'a' || c > 'z' {
		return event.Message
	}
	return event.Command
}

// Prefixes of button data that stands for a text. Such a text is never a command, because a model may have
// chosen it.
const (
	ownWords     = "say:"
	foreignWords = "say~"
)

// Words returns the button data for a text that pressing the button sends to hob. foreign: somebody else's
// text may have influenced it.
func Words(label string, foreign bool) string {
	if foreign {
		return foreignWords + label
	}
	return ownWords + label
}

// parseWords parses data that Words made.
func parseWords(choice string) (text string, foreign, ok bool) {
	if text, ok = strings.CutPrefix(choice, ownWords); ok {
		return text, false, true
	}
	text, ok = strings.CutPrefix(choice, foreignWords)
	return text, true, ok
}
