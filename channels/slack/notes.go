package slack

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const person = `^[UW][0-9A-Z]{2,20}$`
	return []schema.Note{
		{Name: "app_token", Unset: "none", Example: `"env:SLACK_APP_TOKEN"`, Doc: "The app-level token, `xapp-…`, for the socket."},
		{Name: "bot_token", Unset: "none", Example: `"env:SLACK_BOT_TOKEN"`, Doc: "The bot's token, `xoxb-…`."},
		{Name: "known", Example: `["U012AB3CD"]`, Pattern: person, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["U098ZY7XW"]`, Pattern: person, Doc: "Ids of people who may write to hob without being known."},
		{Name: "groups", Example: `["C012AB3CD"]`, Pattern: `^[CG][0-9A-Z]{2,20}$`, Doc: "Ids of channels in which hob answers when it is mentioned."},
		{Name: "api_base", Unset: "https://slack.com/api", Example: `"https://slack-gov.com/api"`, Pattern: `^$|^https?://.+`, Doc: "The address of the Web API, if it is not the usual one."},
	}
}
