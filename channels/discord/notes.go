package discord

import "hob/config/schema"

// notes say what the keys of the section mean.
func notes() []schema.Note {
	const id = `^[1-9][0-9]{0,19}$`
	return []schema.Note{
		{Name: "token", Unset: "none", Example: `"env:DISCORD_TOKEN"`, Doc: "What *Reset Token* shows under *Bot* of the application."},
		{Name: "known", Example: `["175928847299117063"]`, Pattern: id, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["80351110224678912"]`, Pattern: id, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["41771983423143937"]`, Pattern: id, Doc: "Ids of a server's channels in which hob answers when it is mentioned, and in their threads."},
	}
}
