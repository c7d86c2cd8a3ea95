package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"
)

// Account returns the bot's workspace and its user id there.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return "", explain(err)
	}
	return me.TeamID + "/" + me.UserID, nil
}

// Link returns the address of a private chat with the bot ("Deep linking").
func (c *Channel) Link(ctx context.Context) (text, url string, err error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return "", "", explain(err)
	}
	bot, err := c.web.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: me.BotID})
	if err != nil || bot.AppID == "" {
		return fmt.Sprintf("Open %s under Apps in Slack and write the code there.", me.User), "", nil //nolint:nilerr // answer without a link
	}
	url = fmt.Sprintf("https://slack.com/app_redirect?app=%s&team=%s", bot.AppID, me.TeamID)
	return "Open " + url + " and write the code there.", url, nil
}

// scopes are the permissions that hob needs in private chats. Groups need more; reading them in Test shows
// whether they are there.
const scopes = "chat:write im:history im:read im:write users:read files:read files:write"

// Test checks the bot token and its scopes, that the app token opens a socket, and that the bot is a member
// of its groups and can read them. It receives nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return nil, explain(err)
	}
	lines := []string{fmt.Sprintf("The bot token belongs to %s (%s) in the workspace %s (%s).", me.User, me.UserID, me.Team, me.TeamID)}
	// Slack lists the granted scopes in a header of each answer ("Web API", OAuth scopes).
	has := strings.FieldsFunc(me.Header.Get("X-Oauth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	lacks := slices.DeleteFunc(strings.Fields(scopes), func(scope string) bool { return slices.Contains(has, scope) })
	if len(has) > 0 && len(lacks) > 0 {
		return lines, fmt.Errorf("the app lacks the scopes %s: add them at https://api.slack.com/apps under OAuth & Permissions, and install the app again", strings.Join(lacks, ", "))
	}
	if len(has) > 0 {
		lines = append(lines, "It may do all that hob needs in private chats.")
	}
	if _, at, err := c.web.StartSocketModeContext(ctx); err != nil {
		return lines, explain(fmt.Errorf("apps.connections.open: %w", err))
	} else if at == "" {
		return lines, errors.New("apps.connections.open: the answer has no address of a socket (check api_base)")
	}
	lines = append(lines, "The app token opens a socket; Slack does not tell whether the app receives message.im and the other events: compare it with the manifest in docs/channels/slack.md.")
	if len(c.Groups) == 0 {
		return append(lines, "It listens to no groups (groups is empty)."), nil
	}
	for _, group := range c.Groups {
		ch, err := c.web.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: group})
		if err != nil {
			return lines, explain(fmt.Errorf("the channel %s: conversations.info: %w", group, err))
		}
		if !ch.IsMember {
			return lines, fmt.Errorf("it is not in the channel #%s (%s): write /invite @%s there", ch.Name, group, me.User)
		}
		if _, err := c.web.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: group, Limit: 1}); err != nil {
			return lines, explain(fmt.Errorf("the channel %s: conversations.history: %w", group, err))
		}
		lines = append(lines, fmt.Sprintf("It is in the channel #%s (%s), and can read it.", ch.Name, group))
	}
	return lines, nil
}
