package signal

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const person = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	return []schema.Note{
		{Name: "account", Unset: "none", Example: `"+491701234567"`, Doc: "hob's phone number at Signal, or its account id if it has none."},
		{Name: "url", Unset: "http://127.0.0.1:8080", Example: `"http://127.0.0.1:8080"`, Pattern: `^$|^https?://.+`, Doc: "The address of signal-cli's daemon."},
		{Name: "command", Unset: "none", Example: `"signal-cli"`, Doc: "The program signal-cli, if hob shall run it; without this key it must already run."},
		{Name: "known", Example: `["11111111-1111-4111-8111-111111111111"]`, Pattern: person, Doc: "Account ids of people whom you know."},
		{Name: "public", Example: `["22222222-2222-4222-8222-222222222222"]`, Pattern: person, Doc: "Account ids of people who may write to hob without being known."},
		{Name: "groups", Example: `["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]`, Pattern: `^[0-9A-Za-z+/]+=+$`, Doc: "Ids of groups in which hob answers when it is mentioned."},
	}
}
