package signal

import "hob/config/schema"

// notes say what the keys of the section mean.
func notes() []schema.Note {
	const person = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	return []schema.Note{
		{Name: "account", Unset: "none", Example: `"+491701234567"`, Doc: "hob's phone number at Signal, or its account id where it has none."},
		{Name: "url", Unset: "http://127.0.0.1:8080", Example: `"http://127.0.0.1:8080"`, Pattern: `^$|^https?://.+`, Doc: "Where signal-cli's daemon listens."},
		{Name: "command", Unset: "none", Example: `"signal-cli"`, Doc: "The program signal-cli, to be run by hob; without it, it runs already."},
		{Name: "known", Example: `["11111111-1111-4111-8111-111111111111"]`, Pattern: person, Doc: "Account ids of people whom you know."},
		{Name: "public", Example: `["22222222-2222-4222-8222-222222222222"]`, Pattern: person, Doc: "Account ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]`, Pattern: `^[0-9A-Za-z+/]+=+$`, Doc: "Ids of groups in which hob answers when it is mentioned."},
	}
}
