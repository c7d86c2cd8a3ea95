package discord

import (
	"encoding/json"
	"time"

	"hob/channels"
)

// Read converts an event like Run does, for the given bot, in a private chat with the author.
func (c *Channel) Read(raw []byte, bot string) (channels.Message, bool) {
	var m message
	if json.Unmarshal(raw, &m) != nil || m.Author == nil {
		return channels.Message{}, false
	}
	e := &decoder{me: user{ID: bot}, web: &c.api}
	return e.message(&m, place{chat: channels.Chat{ID: m.Author.ID}, ok: true}), true
}

// Since returns the smallest id at an instant.
func Since(t time.Time) string { return since(t) }

// Newer returns the newer of two messages.
func Newer(a, b string) string { return newer(a, b) }
