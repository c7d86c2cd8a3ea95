package matrix

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const person = `^@[^\s:/]+:[^\s/]+$`
	return []schema.Note{
		{Name: "homeserver", Unset: "none", Example: `"https://matrix-client.matrix.org"`, Pattern: `^$|^https?://.+`, Doc: "The address of the homeserver's client API."},
		{Name: "token", Unset: "none", Example: `"env:MATRIX_TOKEN"`, Doc: "The access token of hob's account."},
		{Name: "known", Example: `["@ana:example.org"]`, Pattern: person, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["@bob:example.org"]`, Pattern: person, Doc: "Ids of people who may write to hob without being known."},
		{Name: "groups", Example: `["!AbCdEf:example.org"]`, Pattern: `^![^\s/]+$`, Doc: "Ids of rooms in which hob answers when it is mentioned."},
	}
}
