package slack

import (
	"encoding/json"

	"hob/channels"
)

// Read converts an envelope like Run does, for the bot with this user id; names of people are their ids.
func (c *Channel) Read(raw []byte, me string) (m channels.Message, ok bool) {
	var e envelope
	if json.Unmarshal(raw, &e) != nil {
		return m, false
	}
	v := view{channel: c}
	v.me.UserID = me
	got, ok := v.read(e)
	return got.Message, ok
}

// Words returns a text as people read it.
func Words(text string) string { return words(text, func(id string) string { return "name of " + id }) }
