package discord

import (
	"encoding/json"
	"time"

	"hob/channels"
)

// Read makes a message of an event's data as Run does, for the bot that is named, in a private chat with its author.
func (c *Channel) Read(raw []byte, bot string) (channels.Message, bool) {
	var m message
	if json.Unmarshal(raw, &m) != nil || m.Author == nil {
		return channels.Message{}, false
	}
	e := &decoder{me: user{ID: bot}, web: &c.api}
	return e.message(&m, place{chat: channels.Chat{ID: m.Author.ID}, ok: true}), true
}

// Since is the id that a message had at an instant.
func Since(t time.Time) string { return since(t) }

// Newer is the newer one of two messages.
func Newer(a, b string) string { return newer(a, b) }
