package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"
)

// Account names the bot: its workspace and its user in it.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return "", trouble(err)
	}
	return me.TeamID + "/" + me.UserID, nil
}

// Link is where a private chat with the bot begins ("Deep linking").
func (c *Channel) Link(ctx context.Context) (text, url string, err error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return "", "", trouble(err)
	}
	bot, err := c.web.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: me.BotID})
	if err != nil || bot.AppID == "" {
		return fmt.Sprintf("Open %s under Apps in Slack and write the code there.", me.User), "", nil //nolint:nilerr // the way without a link
	}
	url = fmt.Sprintf("https://slack.com/app_redirect?app=%s&team=%s", bot.AppID, me.TeamID)
	return "Open " + url + " and write the code there.", url, nil
}

// scopes are what the bot must be allowed to do; in groups there is more to it, and trying tells.
const scopes = "chat:write im:history im:read im:write users:read files:read files:write"

// Test asks whose the bot token is and what it may do, whether the app token opens a socket, and whether the bot is in its groups and can read
// them. It receives nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return nil, trouble(err)
	}
	lines := []string{fmt.Sprintf("The bot token is that of %s (%s) in the workspace %s (%s).", me.User, me.UserID, me.Team, me.TeamID)}
	has := strings.FieldsFunc(me.Header.Get("X-Oauth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	var lacks []string
	for _, scope := range strings.Fields(scopes) {
		if len(has) > 0 && !slices.Contains(has, scope) {
			lacks = append(lacks, scope)
		}
	}
	if len(lacks) > 0 {
		return lines, fmt.Errorf("the app lacks the scopes %s: add them at https://api.slack.com/apps under OAuth & Permissions, and install the app again", strings.Join(lacks, ", "))
	}
	if len(has) > 0 {
		lines = append(lines, "It may do all that hob needs in private chats.")
	}
	if _, at, err := c.web.StartSocketModeContext(ctx); err != nil {
		return lines, trouble(fmt.Errorf("apps.connections.open: %w", err))
	} else if at == "" {
		return lines, errors.New("apps.connections.open: the answer has no address of a socket (check api_base)")
	}
	lines = append(lines, "The app token opens a socket; whether the app gets message.im and the other events cannot be asked for: compare it with the manifest in docs/channels.md.")
	if len(c.Groups) == 0 {
		return append(lines, "It listens to no groups (groups is empty)."), nil
	}
	for _, group := range c.Groups {
		ch, err := c.web.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: group})
		if err != nil {
			return lines, trouble(fmt.Errorf("the channel %s: conversations.info: %w", group, err))
		}
		if !ch.IsMember {
			return lines, fmt.Errorf("it is not in the channel #%s (%s): write /invite @%s there", ch.Name, group, me.User)
		}
		if _, err := c.web.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: group, Limit: 1}); err != nil {
			return lines, trouble(fmt.Errorf("the channel %s: conversations.history: %w", group, err))
		}
		lines = append(lines, fmt.Sprintf("It is in the channel #%s (%s), and can read it.", ch.Name, group))
	}
	return lines, nil
}
