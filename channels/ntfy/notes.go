package ntfy

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	return []schema.Note{
		{Name: "server", Example: `"https://ntfy.sh"`, Pattern: `^$|^https?://.+`, Doc: "The server's address."},
		{Name: "topic", Unset: "none", Example: `"my-topic"`, Pattern: `^$|^[-_A-Za-z0-9]{1,64}$`, Doc: "The topic to listen to and to write to; without an access token anybody who guesses it can read it and write to it."},
		{Name: "topics", Apart: true, Example: `["one", "two"]`, Pattern: `^[-_A-Za-z0-9]{1,64}$`, Doc: "Several topics, instead of `topic`."},
		{Name: "token", Ask: true, Unset: "none", Example: `"env:NTFY_TOKEN"`, Doc: "The access token."},
		{Name: "owner", Ask: true, Example: "true", Doc: "Messages in the topics are from you; this needs a token, and topics that nobody else can write to."},
		{Name: "receive", Unset: "true", Example: "true", Doc: "Listen to the topics; false: only send."},
		{Name: "title", Example: `"hob"`, Doc: "The title of hob's messages."},
	}
}
