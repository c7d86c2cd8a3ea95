package matrix

import "hob/config/schema"

// notes say what the keys of the section mean.
func notes() []schema.Note {
	const person = `^@[^\s:/]+:[^\s/]+$`
	return []schema.Note{
		{Name: "homeserver", Unset: "none", Example: `"https://matrix-client.matrix.org"`, Pattern: `^$|^https?://.+`, Doc: "The address of the homeserver's client API."},
		{Name: "token", Unset: "none", Example: `"env:MATRIX_TOKEN"`, Doc: "The access token of hob's account."},
		{Name: "known", Example: `["@ana:example.org"]`, Pattern: person, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["@bob:example.org"]`, Pattern: person, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["!AbCdEf:example.org"]`, Pattern: `^![^\s/]+$`, Doc: "Ids of rooms in which hob answers when it is mentioned."},
	}
}
