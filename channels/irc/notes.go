package irc

import "hob/config/schema"

// notes describe the keys of the section, for set-up and the config reference.
func notes() []schema.Note {
	const person = `^(\$[^\x00-\x20,:*?!@$]{1,50}|[A-Za-z\[\]\\^_{|}` + "`" + `][-0-9A-Za-z\[\]\\^_{|}` + "`" + `]{0,49})$`
	return []schema.Note{
		{Name: "server", Unset: "none", Example: `"irc.libera.chat"`, Doc: "The network's address, with `:port` if that is not 6697 (6667 with `plain`)."},
		{Name: "plain", Ask: true, Example: "false", Doc: "Connect without TLS: anybody on the way can read along."},
		{Name: "fingerprint", Unset: "a certificate that the system trusts", Example: `"abababababababababababababababababababababababababababababababab"`, Pattern: `^$|^([0-9A-Fa-f]{2}:?){32}$`, Doc: "The SHA-256 of the server's certificate, which is then accepted regardless of who signed it."},
		{Name: "nick", Example: `"hob"`, Doc: "hob's nick; if it is taken, `_` is added until it is free."},
		{Name: "account", Ask: true, Unset: "the nick", Example: `"hob"`, Doc: "The account to log in to; only a network with accounts can tell you from others, so that you can be paired."},
		{Name: "password", Ask: true, Unset: "none", Example: `"env:IRC_PASSWORD"`, Doc: "The account's password (SASL PLAIN)."},
		{Name: "certificate", Unset: "no certificate", Example: `"file:irc.pem"`, Doc: "A certificate with its key in PEM; without a password it logs in (SASL EXTERNAL)."},
		{Name: "server_password", Unset: "no password", Example: `"env:IRC_SERVER_PASSWORD"`, Doc: "The password of the server itself, if it has one."},
		{Name: "channels", Example: `["#family"]`, Pattern: `^[#&][^\x00-\x20,:]{1,63}$`, Doc: "Channels to join; hob answers there when its nick is mentioned."},
		{Name: "known", Example: `["$sam"]`, Pattern: person, Doc: "Accounts of people whom you know."},
		{Name: "public", Example: `["$kim"]`, Pattern: person, Doc: "Accounts of people who may write to hob without being known."},
		{Name: "trust_nicks", Example: "false", Doc: "A nick, like `sam`, identifies a person: only on a private network where nobody else can take it."},
	}
}
