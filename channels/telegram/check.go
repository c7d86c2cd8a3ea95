package telegram

import (
	"context"
	"fmt"
	"strconv"
)

// Link returns the address of a private chat with the bot.
func (c *Channel) Link(ctx context.Context) (text, url string, err error) {
	var me user
	if err := c.api.call(ctx, "getMe", nil, &me); err != nil {
		return "", "", c.explain(ctx, err)
	}
	url = "https://t.me/" + me.Username
	return "Open " + url + " and write the code there.", url, nil
}

// Account returns the bot's id.
func (c *Channel) Account(ctx context.Context) (string, error) {
	var me user
	if err := c.api.call(ctx, "getMe", nil, &me); err != nil {
		return "", c.explain(ctx, err)
	}
	return strconv.FormatInt(me.ID, 10), nil
}

// Test asks for the bot's name, for a web hook that would take its messages, and for its privacy mode in
// groups. It receives nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	var me user
	if err := c.api.call(ctx, "getMe", nil, &me); err != nil {
		return nil, c.explain(ctx, err)
	}
	lines := []string{fmt.Sprintf("The token belongs to @%s (%s), bot %d.", me.Username, me.First, me.ID)}
	var hook webhook
	if err := c.api.call(ctx, "getWebhookInfo", nil, &hook); err != nil {
		return lines, c.explain(ctx, err)
	}
	if hook.URL != "" {
		return lines, fmt.Errorf("the bot's messages go to the web hook %s: remove it with the method deleteWebhook, or give hob a bot of its own", hook.URL)
	}
	lines = append(lines, "No web hook is set: hob can receive.")
	switch {
	case len(c.Groups) == 0:
		lines = append(lines, "It listens to no groups (groups is empty).")
	case me.ReadsAll:
		lines = append(lines, "Privacy mode is off: Telegram shows it everything in its groups; hob reads what mentions it.")
	default:
		lines = append(lines, "Privacy mode is on: in groups Telegram shows it commands, replies and mentions only. Pictures that follow a mention may not come; to change that: /setprivacy at @BotFather, then add the bot to the group again.")
	}
	return lines, nil
}
