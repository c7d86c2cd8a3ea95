package email

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const person = `^[0-9a-z.!#$%&'*+=?^_{|}~-]{1,64}@[0-9a-z](?:[0-9a-z.-]{0,250}[0-9a-z])?$`
	return []schema.Note{
		{Name: "imap", Unset: "none", Example: `"imap.example.org"`, Doc: "The server to read from, with `:port` if that is not 993; at 143 TLS begins with STARTTLS."},
		{Name: "smtp", Unset: "none", Example: `"smtp.example.org"`, Doc: "The server to send through, with `:port` if that is not 465; at any other port TLS begins with STARTTLS, or with the first byte if no greeting comes within 3 seconds."},
		{Name: "user", Unset: "the address", Example: `"hob@example.org"`, Doc: "The name to log in with."},
		{Name: "password", Unset: "none", Example: `"env:MAIL_PASSWORD"`, Doc: "The password to log in with."},
		{Name: "address", Unset: "none", Example: `"hob@example.org"`, Doc: "hob's own address."},
		{Name: "folder", Example: `"INBOX"`, Doc: "The folder to read."},
		{Name: "tls", Unset: "true", Example: "true", Doc: "Use TLS; false is allowed only for servers on this machine."},
		{Name: "fingerprint", Unset: "a certificate that the system trusts", Example: `"abababababababababababababababababababababababababababababababab"`, Pattern: `^$|^([0-9A-Fa-f]{2}:?){32}$`, Doc: "The SHA-256 of the servers' certificate, which is then accepted regardless of who signed it."},
		{Name: "trust_results", Unset: "none", Example: `"mx.example.org"`, Doc: "The name at the beginning of the Authentication-Results header that your mail server adds; without it no sender is accepted."},
		{Name: "known", Example: `["ana@example.org"]`, Pattern: person, Doc: "Addresses of people whom you know, in lower case."},
		{Name: "public", Example: `["kim@example.org"]`, Pattern: person, Doc: "Addresses of people who may write to hob without being known."},
	}
}
