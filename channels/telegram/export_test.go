package telegram

import (
	"encoding/json"

	"hob/channels"
)

// Read makes a message of an update as Run does, for the bot that is named.
func (c *Channel) Read(raw []byte, bot int64, name string) (m channels.Message, ok bool) {
	var u update
	if json.Unmarshal(raw, &u) != nil {
		return m, false
	}
	r := &reader{channel: c, me: user{ID: bot, Username: name}}
	return r.message(u)
}
