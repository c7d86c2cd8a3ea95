// Package all lists the kinds of channels, and contains no logic. The cli is missing on purpose: it needs no
// section, is always on, and is wired separately.
package all

import (
	"hob/channels"
	"hob/channels/discord"
	"hob/channels/email"
	"hob/channels/irc"
	"hob/channels/matrix"
	"hob/channels/ntfy"
	"hob/channels/signal"
	"hob/channels/slack"
	"hob/channels/telegram"
)

// All returns every kind that a section [channels.NAME] can have. A new channel is one more line here.
func All() []channels.Kind {
	return []channels.Kind{
		discord.Kind(),
		email.Kind(),
		irc.Kind(),
		matrix.Kind(),
		ntfy.Kind(),
		signal.Kind(),
		slack.Kind(),
		telegram.Kind(),
	}
}
