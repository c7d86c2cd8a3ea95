package slack

import (
	"encoding/json"

	"hob/channels"
)

// Read makes a message of an envelope as Run does, for the bot with this user id; the names of people are their ids.
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

// Words is a text as people read it.
func Words(text string) string { return words(text, func(id string) string { return "name of " + id }) }
