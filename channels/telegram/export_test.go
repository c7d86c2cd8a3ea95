package telegram

import (
	"encoding/json"

	"hob/channels"
)

// Read converts an update like Run does, for the given bot.
func (c *Channel) Read(raw []byte, bot int64, name string) (m channels.Message, ok bool) {
	var u update
	if json.Unmarshal(raw, &u) != nil {
		return m, false
	}
	r := &reader{channel: c, me: user{ID: bot, Username: name}}
	return r.message(u)
}
