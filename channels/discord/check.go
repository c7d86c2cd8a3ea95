package discord

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"hob/channels/wire"
)

// application is the application that the bot belongs to ("Application Resource").
type application struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
}

// readsGroups reports whether the bot receives the content of group messages. Large and small bots have
// different flags.
func (a application) readsGroups() bool { return a.Flags>>flagContent&3 != 0 }

// Permissions that the invitation requests ("Bitwise Permission Flags").
const (
	viewChannel  = 1 << 10
	sendMessages = 1 << 11
	attachFiles  = 1 << 15
	readHistory  = 1 << 16
	inThreads    = 1 << 38
)

// Account returns the bot's id.
func (c *Channel) Account(ctx context.Context) (string, error) {
	var me user
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return "", statuses().Received(err)
	}
	return me.ID, nil
}

// Link returns the address of a private chat with the bot. Discord allows it only between members of the same
// server.
func (c *Channel) Link(ctx context.Context) (text, link string, err error) {
	var me user
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return "", "", statuses().Received(err)
	}
	var app application
	if err := c.api.call(ctx, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		return "", "", statuses().Received(err)
	}
	link = "https://discord.com/users/" + me.ID
	return fmt.Sprintf("Open %s, choose Message, and write the code there. Where Discord does not allow that, you and the bot share no server yet: add it to one of yours with %s first.", link, invitation(app.ID)), link, nil
}

// invitation returns the address that adds the bot to a server ("Bot Authorization Flow").
func invitation(app string) string {
	const allowed = viewChannel | sendMessages | attachFiles | readHistory | inThreads
	return "https://discord.com/oauth2/authorize?" + url.Values{"client_id": {app}, "permissions": {strconv.FormatInt(allowed, 10)}, "scope": {"bot"}}.Encode()
}

// Test checks the token, the intent for group messages, and whether the listed channels can be read. It
// begins no gateway session, because their number per day is limited.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	var me user
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return nil, statuses().Received(err)
	}
	lines := []string{fmt.Sprintf("The token belongs to %s, bot %s.", me.name(), me.ID)}
	var app application
	if err := c.api.call(ctx, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		return lines, statuses().Received(err)
	}
	if len(c.Groups) == 0 {
		return append(lines, "It listens to no groups (groups is empty)."), nil
	}
	if !app.readsGroups() {
		return lines, fmt.Errorf("the text of group messages is hidden from the bot: %s", seeGroups)
	}
	lines = append(lines, "Message Content Intent is on: the bot sees the text of group messages.")
	for _, group := range c.Groups {
		var about room
		err := c.api.call(ctx, http.MethodGet, "/channels/"+group, nil, &about)
		if err == nil {
			err = c.api.call(ctx, http.MethodGet, "/channels/"+group+"/messages?limit=1", nil, nil)
		}
		if wire.HasStatus(err, http.StatusForbidden, http.StatusNotFound) {
			return lines, fmt.Errorf("the channel %s: %w; add the bot to its server with %s, and let it view the channel and read its history", group, err, invitation(app.ID))
		}
		if err != nil {
			return lines, statuses().Received(err)
		}
		lines = append(lines, fmt.Sprintf("It can read the channel #%s (%s).", about.Name, group))
	}
	return lines, nil
}
