package daemon

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/channels/discord"
	"hob/channels/email"
	"hob/channels/irc"
	"hob/channels/matrix"
	"hob/channels/ntfy"
	"hob/channels/signal"
	"hob/channels/slack"
	"hob/channels/telegram"
	"hob/config"
	"hob/config/schema"
	"hob/daemon/clock"
	"hob/daemon/jobs"
	"hob/daemon/llm/openai"
	"hob/daemon/models"
	"hob/daemon/watches"
	"hob/daemon/webhooks"
)

// ConfigSections describes the sections of the config that config keeps raw: their keys, and what their owners would say of them. Nothing
// is opened and nobody is asked: a secret is not looked up.
func ConfigSections() config.Owned {
	return config.Owned{
		Backends: append([]string{models.Builtin}, openai.Backends()...),
		Parts: []config.Part{
			{
				Path: "channels.NAME", Kind: "discord", Named: "discord", Doc: "A Discord bot. See channels.md.",
				Keys: schema.Describe(discord.Config{}, discordNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "email", Named: "email", Doc: "A mailbox: IMAP in, SMTP out. See channels.md.",
				Keys: schema.Describe(email.Config{Folder: "INBOX"}, emailNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "irc", Named: "irc", Doc: "A nick on an IRC network. See channels.md.",
				Keys: schema.Describe(irc.Config{Nick: "hob"}, ircNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "ntfy", Named: "alerts", Doc: "A topic at an ntfy server. See channels.md.",
				Keys: schema.Describe(ntfy.Config{Server: "https://ntfy.sh", Title: "hob"}, ntfyNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "matrix", Named: "matrix", Doc: "An account at a Matrix homeserver. See channels.md.",
				Keys: schema.Describe(matrix.Config{}, matrixNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "signal", Named: "signal", Doc: "An account of Signal, through signal-cli. See channels.md.",
				Keys: schema.Describe(signal.Config{}, signalNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "slack", Named: "slack", Doc: "An app in a Slack workspace. See channels.md.",
				Keys: schema.Describe(slack.Config{}, slackNotes()), Check: checkChannel,
			},
			{
				Path: "channels.NAME", Kind: "telegram", Named: "telegram", Doc: "A Telegram bot. See channels.md.",
				Keys: schema.Describe(telegram.Config{}, telegramNotes()), Check: checkChannel,
			},
			{
				Path: "jobs.NAME", Named: "morning", Doc: "A chore by schedule, as `hob cron add` makes it: exactly one of `when`, `cron`, `every` and `at`.",
				Keys: schema.Describe(jobs.Section{}, jobs.Notes()), Check: checkJob,
			},
			{
				Path: "watches.NAME", Named: "papers", Doc: "A chore when files change, as `hob watch add` makes it. See watches.md.",
				Keys: schema.Describe(watches.Section{}, watches.Notes()), Check: checkWatch,
			},
			{
				Path: "hooks.NAME", Named: "deploys", Doc: "An address that others post to, as `hob hook add` makes it. See webhooks.md.",
				Keys: schema.Describe(webhooks.Section{}, webhooks.Notes()), Check: checkHook,
			},
		},
	}
}

// ChannelKinds are the kinds of channels that this hob has.
func ChannelKinds() []string {
	var names []string
	for _, k := range chanall.All() {
		names = append(names, k.Name)
	}
	return names
}

func discordNotes() []schema.Note {
	const id = `^[1-9][0-9]{0,19}$`
	return []schema.Note{
		{Name: "token", Unset: "none", Example: `"env:DISCORD_TOKEN"`, Doc: "What *Reset Token* shows under *Bot* of the application."},
		{Name: "known", Example: `["175928847299117063"]`, Pattern: id, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["80351110224678912"]`, Pattern: id, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["41771983423143937"]`, Pattern: id, Doc: "Ids of a server's channels in which hob answers when it is mentioned, and in their threads."},
	}
}

func emailNotes() []schema.Note {
	const person = `^[0-9a-z.!#$%&'*+=?^_{|}~-]{1,64}@[0-9a-z](?:[0-9a-z.-]{0,250}[0-9a-z])?$`
	return []schema.Note{
		{Name: "imap", Unset: "none", Example: `"imap.example.org"`, Doc: "The server to read from, with `:port` where that is not 993; at 143 TLS begins by STARTTLS."},
		{Name: "smtp", Unset: "none", Example: `"smtp.example.org"`, Doc: "The server to send through, with `:port` where that is not 465; at any other TLS begins by STARTTLS."},
		{Name: "user", Unset: "the address", Example: `"hob@example.org"`, Doc: "The name to log in with."},
		{Name: "password", Unset: "none", Example: `"env:MAIL_PASSWORD"`, Doc: "The password to log in with."},
		{Name: "address", Unset: "none", Example: `"hob@example.org"`, Doc: "hob's own address."},
		{Name: "folder", Example: `"INBOX"`, Doc: "The folder to read."},
		{Name: "tls", Unset: "true", Example: "true", Doc: "Speak to the servers over TLS; false: only to servers on this machine."},
		{Name: "fingerprint", Unset: "none", Example: `"abababababababababababababababababababababababababababababababab"`, Pattern: `^$|^([0-9A-Fa-f]{2}:?){32}$`, Doc: "The SHA-256 of the servers' certificate, which is then taken whoever has signed it."},
		{Name: "trust_results", Unset: "none", Example: `"mx.example.org"`, Doc: "The name that your mail server puts first into the header Authentication-Results; without it nobody is recognised."},
		{Name: "known", Example: `["ana@example.org"]`, Pattern: person, Doc: "Addresses of people whom you know, in small letters."},
		{Name: "public", Example: `["kim@example.org"]`, Pattern: person, Doc: "Addresses of people who may write, and are nobody in particular."},
	}
}

func ircNotes() []schema.Note {
	const person = `^(\$[^\x00-\x20,:*?!@$]{1,50}|[A-Za-z\[\]\\^_{|}` + "`" + `][-0-9A-Za-z\[\]\\^_{|}` + "`" + `]{0,49})$`
	return []schema.Note{
		{Name: "server", Unset: "none", Example: `"irc.libera.chat"`, Doc: "The network's address, with `:port` where that is not 6697 (6667 with `plain`)."},
		{Name: "plain", Example: "false", Doc: "Connect without TLS: everybody on the way can read along."},
		{Name: "fingerprint", Unset: "none", Example: `"abababababababababababababababababababababababababababababababab"`, Pattern: `^$|^([0-9A-Fa-f]{2}:?){32}$`, Doc: "The SHA-256 of the server's certificate, which is then taken whoever has signed it."},
		{Name: "nick", Example: `"hob"`, Doc: "hob's nick; where it is taken, with `_` behind it until it is free."},
		{Name: "account", Unset: "the nick", Example: `"hob"`, Doc: "The account to log in to."},
		{Name: "password", Unset: "none", Example: `"env:IRC_PASSWORD"`, Doc: "The account's password (SASL PLAIN)."},
		{Name: "certificate", Unset: "none", Example: `"file:irc.pem"`, Doc: "A certificate with its key in PEM; without a password it logs in (SASL EXTERNAL)."},
		{Name: "server_password", Unset: "none", Example: `"env:IRC_SERVER_PASSWORD"`, Doc: "The password of the server itself, where it has one."},
		{Name: "channels", Example: `["#family"]`, Pattern: `^[#&][^\x00-\x20,:]{1,63}$`, Doc: "Channels to join; hob answers there when its nick is mentioned."},
		{Name: "known", Example: `["$sam"]`, Pattern: person, Doc: "Accounts of people whom you know."},
		{Name: "public", Example: `["$kim"]`, Pattern: person, Doc: "Accounts of people who may write, and are nobody in particular."},
		{Name: "trust_nicks", Example: "false", Doc: "Take a nick for a person, as `sam`: only on a private network where nobody else can take it."},
	}
}

func ntfyNotes() []schema.Note {
	return []schema.Note{
		{Name: "server", Example: `"https://ntfy.sh"`, Pattern: `^$|^https?://.+`, Doc: "The server's address."},
		{Name: "topic", Unset: "none", Example: `"my-topic"`, Pattern: `^$|^[-_A-Za-z0-9]{1,64}$`, Doc: "The topic to listen to, and to write to."},
		{Name: "topics", Apart: true, Example: `["one", "two"]`, Pattern: `^[-_A-Za-z0-9]{1,64}$`, Doc: "Several topics in the place of `topic`."},
		{Name: "token", Unset: "none", Example: `"env:NTFY_TOKEN"`, Doc: "The access token."},
		{Name: "owner", Example: "true", Doc: "What is written to the topics was written by you; it needs a token, and topics that nobody else can write to."},
		{Name: "receive", Unset: "true", Example: "true", Doc: "Listen to the topics; false: only send."},
		{Name: "title", Example: `"hob"`, Doc: "The title of what hob sends."},
	}
}

func matrixNotes() []schema.Note {
	const person = `^@[^\s:/]+:[^\s/]+$`
	return []schema.Note{
		{Name: "homeserver", Unset: "none", Example: `"https://matrix-client.matrix.org"`, Pattern: `^$|^https?://.+`, Doc: "The address of the homeserver's client API."},
		{Name: "token", Unset: "none", Example: `"env:MATRIX_TOKEN"`, Doc: "The access token of hob's account."},
		{Name: "known", Example: `["@ana:example.org"]`, Pattern: person, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["@bob:example.org"]`, Pattern: person, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["!AbCdEf:example.org"]`, Pattern: `^![^\s/]+$`, Doc: "Ids of rooms in which hob answers when it is mentioned."},
	}
}

func signalNotes() []schema.Note {
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

func slackNotes() []schema.Note {
	const person = `^[UW][0-9A-Z]{2,20}$`
	return []schema.Note{
		{Name: "app_token", Unset: "none", Example: `"env:SLACK_APP_TOKEN"`, Doc: "The app-level token, `xapp-…`, which opens the socket."},
		{Name: "bot_token", Unset: "none", Example: `"env:SLACK_BOT_TOKEN"`, Doc: "The bot's token, `xoxb-…`."},
		{Name: "known", Example: `["U012AB3CD"]`, Pattern: person, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["U098ZY7XW"]`, Pattern: person, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["C012AB3CD"]`, Pattern: `^[CG][0-9A-Z]{2,20}$`, Doc: "Ids of channels in which hob answers when it is mentioned."},
		{Name: "api_base", Unset: "https://slack.com/api", Example: `"https://slack-gov.com/api"`, Pattern: `^$|^https?://.+`, Doc: "The address of the Web API, where it is another one."},
	}
}

func telegramNotes() []schema.Note {
	return []schema.Note{
		{Name: "token", Unset: "none", Example: `"env:TELEGRAM_TOKEN"`, Doc: "What @BotFather shows for the bot."},
		{Name: "known", Example: `["123456789"]`, Pattern: `^[1-9][0-9]*$`, Doc: "Ids of people whom you know."},
		{Name: "public", Example: `["987654321"]`, Pattern: `^[1-9][0-9]*$`, Doc: "Ids of people who may write, and are nobody in particular."},
		{Name: "groups", Example: `["-1001234567890"]`, Pattern: `^-[1-9][0-9]*$`, Doc: "Ids of groups in which hob answers when it is mentioned."},
		{Name: "api_base", Unset: "https://api.telegram.org", Example: `"http://127.0.0.1:8081"`, Pattern: `^$|^https?://.+`, Doc: "The address of a Bot API server of your own."},
	}
}

// checkChannel builds the channel of a section, as the daemon does, with a stand-in for its secrets.
func checkChannel(snap *config.Snapshot, section config.Section) []config.Problem {
	kind := section.Name
	for _, c := range snap.Channels {
		if c.Name == section.Name {
			kind, section = c.Kind, c.Section
		}
	}
	env := channels.Env{
		HTTP: &http.Client{}, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler),
		Secret: func(string) (string, error) { return "stand-in", nil },
	}
	_, err := channels.Build(chanall.All(), section.Name, kind, env, section.Decode)
	return faults(section, err)
}

// checkJob makes the job of a section, as the daemon does.
func checkJob(snap *config.Snapshot, section config.Section) []config.Problem {
	return faults(section, jobs.Check(section.Decode, snap.Owner.Timezone, clock.Real().Wall()))
}

// checkWatch makes the file watch of a section, as the daemon does.
func checkWatch(_ *config.Snapshot, section config.Section) []config.Problem {
	return faults(section, watches.Check(section.Decode, clock.Real().Wall()))
}

// checkHook makes the webhook of a section, as the daemon does.
func checkHook(_ *config.Snapshot, section config.Section) []config.Problem {
	return faults(section, webhooks.Check(section.Name, section.Decode, clock.Real().Wall()))
}

// faults are the problems behind an owner's error, each line of which begins with the key it is about.
func faults(section config.Section, err error) []config.Problem {
	var list config.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return list
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimPrefix(line, section.Path()+": ")
		key, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "time zone ") {
			key = "tz"
		}
		list = append(list, section.Fault(strings.TrimSuffix(key, ":"), line))
	}
	return list
}
