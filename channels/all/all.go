// Package all lists the kinds of channels. The cli is not among them: it needs no section, is always on and is
// wired apart. The package holds a list and no logic.
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

// All returns every kind of channel that a section [channels.NAME] can have.
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
