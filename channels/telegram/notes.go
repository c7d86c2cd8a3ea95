package telegram

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	return []schema.Note{
		{Name: "token", Unset: "none", Example: `"env:TELEGRAM_TOKEN"`, Doc: "The bot's token, from @BotFather."},
		{Name: "known", Example: `["123456789"]`, Pattern: `^[1-9][0-9]*$`, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["987654321"]`, Pattern: `^[1-9][0-9]*$`, Doc: "Ids of people who may write to hob without being known."},
		{Name: "groups", Example: `["-1001234567890"]`, Pattern: `^-[1-9][0-9]*$`, Doc: "Ids of groups in which hob answers when it is mentioned."},
		{Name: "api_base", Unset: "https://api.telegram.org", Example: `"http://127.0.0.1:8081"`, Pattern: `^$|^https?://.+`, Doc: "The address of your own Bot API server."},
	}
}
