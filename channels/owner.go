package channels

import "hob/daemon/event"

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
