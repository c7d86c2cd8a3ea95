package email

import "hob/config/schema"

// notes say what the keys of the section mean.
func notes() []schema.Note {
	const person = `^[0-9a-z.!#$%&'*+=?^_{|}~-]{1,64}@[0-9a-z](?:[0-9a-z.-]{0,250}[0-9a-z])?$`
	return []schema.Note{
		{Name: "imap", Unset: "none", Example: `"imap.example.org"`, Doc: "The server to read from, with `:port` where that is not 993; at 143 TLS begins by STARTTLS."},
		{Name: "smtp", Unset: "none", Example: `"smtp.example.org"`, Doc: "The server to send through, with `:port` where that is not 465; at any other TLS begins by STARTTLS, or with the first byte where no greeting comes within 3 seconds."},
		{Name: "user", Unset: "the address", Example: `"hob@example.org"`, Doc: "The name to log in with."},
		{Name: "password", Unset: "none", Example: `"env:MAIL_PASSWORD"`, Doc: "The password to log in with."},
		{Name: "address", Unset: "none", Example: `"hob@example.org"`, Doc: "hob's own address."},
		{Name: "folder", Example: `"INBOX"`, Doc: "The folder to read."},
		{Name: "tls", Unset: "true", Example: "true", Doc: "Speak to the servers over TLS; false: only to servers on this machine."},
		{Name: "fingerprint", Unset: "a certificate that the system trusts", Example: `"abababababababababababababababababababababababababababababababab"`, Pattern: `^$|^([0-9A-Fa-f]{2}:?){32}$`, Doc: "The SHA-256 of the servers' certificate, which is then taken whoever has signed it."},
		{Name: "trust_results", Unset: "none", Example: `"mx.example.org"`, Doc: "The name that your mail server puts first into the header Authentication-Results; without it nobody is recognised."},
		{Name: "known", Example: `["ana@example.org"]`, Pattern: person, Doc: "Addresses of people whom you know, in small letters."},
		{Name: "public", Example: `["kim@example.org"]`, Pattern: person, Doc: "Addresses of people who may write, and are nobody in particular."},
	}
}
