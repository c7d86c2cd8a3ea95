package discord

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const id = `^[1-9][0-9]{0,19}$`
	return []schema.Note{
		{Name: "token", Unset: "none", Example: `"env:DISCORD_TOKEN"`, Doc: "The bot's token: *Reset Token* under *Bot* of the application shows it."},
		{Name: "known", Example: `["175928847299117063"]`, Pattern: id, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["80351110224678912"]`, Pattern: id, Doc: "Ids of people who may write to hob without being known."},
		{Name: "groups", Example: `["41771983423143937"]`, Pattern: id, Doc: "Ids of server channels in which hob answers when it is mentioned, also in their threads."},
	}
}
