package config

import "hob/config/schema"

// core describes the sections that config reads itself: the one place where their keys are written down beside the structs.
// The checks, the schema, the reference and the completion all come from it.
func core() []Part {
	d := Default()
	return []Part{
		{
			Path: "model", Doc: "The language model that thinks. Without this section the built-in interpreter serves, which needs no key and no network.",
			Keys: schema.Describe(d.Model, modelNotes()),
		},
		{
			Path: "models.NAME", Named: "local", Doc: "Another model, to fall back to (`fallback`) or to choose by its name (`hob model use NAME`).",
			Like: "model", Example: "backend = \"lmstudio\"\nmodel = \"qwen\"\n", Keys: schema.Describe(d.Model, modelNotes()),
		},
		{Path: "owner", Doc: "The one person that hob works for.", Keys: schema.Describe(d.Owner, ownerNotes())},
		{
			Path: "tools", Doc: "What tools may be used, and on what. A mistake in this section denies every tool.",
			Keys: schema.Describe(struct{ Roots, Allow, Deny, Core []string }{}, toolNotes()),
		},
		{
			Path: "tools.exec", Doc: "How shell commands are confined (see security.md), how long they may take, and where they run. A mistake in this section denies `exec` and `tmux`.",
			Keys: schema.Describe(d.Tools.Exec, execNotes()),
		},
		{
			Path: "tools.web", Doc: "How the web is searched, and what may be sent there: see security.md. A mistake in this section denies `web_search`.",
			Keys: schema.Describe(d.Tools.Web, webNotes()),
		},
		toolHooksPart(),
		{Path: "guard", Doc: "When hob asks before it acts.", Keys: schema.Describe(d.Guard, []schema.Note{{
			Name: "mode", Words: []string{"ask", "open"}, Example: `"ask"`,
			Doc: "`ask` wants your yes before effects that cannot be taken back; `open` asks nothing, but for what is always denied.",
		}})},
		{Path: "budget", Doc: "Hard caps of one day in the owner's zone: 0 spends nothing, -1 is no cap.", Keys: schema.Describe(d.Budget, []schema.Note{
			{Name: "per_day", Least: "0", Most: "1000000000", Also: "-1 for no cap", Example: "5.0", Doc: "What a day may cost, in the provider's currency, where the price is known."},
			{Name: "tokens_per_day", Least: "0", Also: "-1 for no cap", Example: "2000000", Doc: "How many tokens a day may use where the price is not known."},
		})},
		{Path: "turn", Doc: "What one turn may use.", Keys: schema.Describe(d.Turn, []schema.Note{
			{Name: "max_steps", Least: "1", Example: "50", Doc: "Answers of the model in one turn."},
			{Name: "max_running", Least: "1s", Example: `"15m"`, Doc: "How long one turn may run, not counting what it waits."},
		})},
		{Path: "backup", Doc: "The copies of the database that hob makes by itself, in `state/backups`; those that you make are never deleted.", Keys: schema.Describe(d.Backup, []schema.Note{
			{Name: "every", Least: "1h", Example: `"24h"`, Doc: "From one copy to the next; a day or more: at a quiet hour of the night."},
			{Name: "daily", Least: "0", Example: "7", Doc: "The newest copy of each of that many days is kept; 0: none is made."},
			{Name: "weekly", Least: "0", Example: "4", Doc: "And the newest of each of that many weeks."},
		})},
		{Path: "outbox", Doc: "How messages go out; see channels.md.", Keys: schema.Describe(d.Outbox, []schema.Note{
			{Name: "live", Example: "true", Doc: "Whether an answer that takes longer than some seconds is shown while it is written, on the channels that can change what they have sent."},
			{Name: "hold", Least: "0s", Most: "1h", Example: `"10s"`, Doc: "How long a message to anybody but you waits, so that `hob outbox drop ID` or `/cancel ID` can stop it; 0s sends it at once, and what you send yourself never waits."},
			{Name: "announce", Example: "true", Doc: "Tell me of each such message while it waits."},
		})},
		{Path: "network", Doc: "How hob reaches the servers of channels and models; see security.md. Nothing is taken from the environment.", Keys: proxyOf("none", `"http://sam:env:PROXY_PASSWORD@proxy.example.org:3128"`)},
		{Path: "voice", Doc: "Where what people say in voice notes is turned into words: any server that takes OpenAI's requests for transcriptions. Without it hob keeps the notes and says that it did not listen; see channels.md.", Keys: schema.Describe(d.Voice, []schema.Note{
			{Name: "base_url", Unset: "none", Example: `"https://api.openai.com/v1"`, Pattern: `^$|^https?://.+`, Doc: "The server's address; `/audio/transcriptions` comes behind it."},
			{Name: "model", Example: `"whisper-1"`, Doc: "The model's name at the server."},
			{Name: "api_key", Unset: "none", Example: `"env:OPENAI_API_KEY"`, Doc: "The key for the server: a reference to a secret, or the key itself."},
			{Name: "language", Unset: "the server finds out", Example: `"de"`, Pattern: `^$|^[a-z]{2,3}$`, Doc: "The language that is spoken, by its ISO 639 code."},
			{Name: "timeout", Least: "1s", Most: "10m", Example: `"1m"`, Doc: "How long one note may take."},
			{Name: "price", Unset: "not known: tokens are counted", Least: "0", Most: "1000", Example: "0.006", Doc: "What a minute costs, in the budget's currency, where the server does not tell; on this machine nothing is counted."},
		})},
		{Path: "heartbeat", Doc: "How often hob looks by itself whether `HEARTBEAT.md` in the workspace asks for something. Nothing is spent while that file is missing or has only headings in it, and while hob is busy.", Keys: schema.Describe(d.Heartbeat, []schema.Note{
			{Name: "enabled", Example: "true", Doc: "Whether there is a heartbeat at all."},
			{Name: "every", Least: "1s", Most: "8760h", Example: `"30m"`, Doc: "From one look to the next."},
			{Name: "active", Unset: "the whole day", Example: `"08:00-22:00"`, Pattern: `^$|^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`, Doc: "The hours of your day in which it looks; they may cross midnight."},
			{Name: "gate", Unset: "none", Example: `"url:https://example.org/feed.xml"`, Doc: "A test that must open too: a command whose output is new, `exit:COMMAND`, `url:ADDRESS` or `files:GLOB,GLOB`."},
			{Name: "prompt", Unset: "hob's own", Example: `"Do what HEARTBEAT.md says."`, Doc: "What hob is told, with the file behind it; its answer `HEARTBEAT_OK` is not sent."},
			{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Pattern: `^$|^(owner|none)$|^[^:]+:.+$`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
		})},
		{Path: "web", Doc: "The local HTTP API.", Keys: schema.Describe(d.Web, []schema.Note{{
			Name: "listen", Unset: "127.0.0.1:4620, or a free port where that is taken", Example: `"127.0.0.1:4620"`, Pattern: `^$|^.+:[0-9]{1,5}$`,
			Doc: "host:port of this machine only; port 0 is any free one.",
		}})},
		{Path: "daemon", Doc: "How hob deals with crashes.", Keys: schema.Describe(d.Daemon, []schema.Note{
			{Name: "max_attempts", Least: "1", Example: "3", Doc: "How often a turn is begun before it is given up."},
			{Name: "safe_mode_after", Least: "1", Example: "3", Doc: "Unclean ends within ten minutes before hob starts in safe mode."},
		})},
	}
}

func modelNotes() []schema.Note {
	return []schema.Note{
		{Name: "backend", Unset: "the built-in interpreter", Example: `"openrouter"`, Doc: "Who serves the model: see models.md."},
		{Name: "model", Unset: "none", Example: `"provider/name"`, Doc: "The model's name at its server."},
		{Name: "api_key", Unset: "none", Example: `"env:OPENROUTER_API_KEY"`, Doc: "The key for the server: a reference to a secret, or the key itself."},
		{Name: "base_url", Unset: "the backend's own", Example: `"https://openrouter.ai/api/v1"`, Pattern: `^$|^https?://.+`, Doc: "The server's address; required for `compatible`."},
		{Name: "max_output_tokens", Unset: "8192", Least: "1", Example: "8192", Doc: "Tokens that one answer may have; less than `context_tokens`."},
		{Name: "context_tokens", Unset: "200000, or 32768 for lmstudio, ollama and compatible", Least: "1", Example: "200000", Doc: "Tokens that one request may hold."},
		{Name: "thinking", Unset: "the model's own way", Words: []string{"off", "minimal", "low", "medium", "high", "xhigh"}, Example: `"medium"`, Doc: "How much the model thinks before it answers."},
		proxyOf("as in `[network]`", `"none"`)[0].Note,
		{Name: "price", Unset: "not known: tokens are counted", Example: "{ input = 3.0, cached = 0.3, output = 15.0 }", Doc: "What the model costs, where the server does not tell."},
		{Name: "price.input", Least: "0", Most: "100000", Example: "3.0", Doc: "What a million tokens of input cost, in the budget's currency."},
		{Name: "price.cached", Unset: "as `input`", Least: "0", Most: "100000", Example: "0.3", Doc: "What a million tokens of input cost that the provider had in its cache."},
		{Name: "price.output", Least: "0", Most: "100000", Example: "15.0", Doc: "What a million tokens of output cost."},
		{Name: "first_byte_timeout", Unset: "2m", Least: "1s", Most: "1h", Example: `"2m"`, Doc: "The longest wait for the first byte of an answer."},
		{Name: "idle_timeout", Unset: "1m", Least: "1s", Most: "1h", Example: `"1m"`, Doc: "The longest silence within an answer."},
		{Name: "fallback", Example: `["local"]`, Doc: "Names of `[models.NAME]`, asked in this order when the model fails."},
	}
}

func ownerNotes() []schema.Note {
	return []schema.Note{
		{Name: "name", Unset: "none", Example: `"Sam"`, Doc: "What hob calls you."},
		{Name: "timezone", Unset: "the machine's", Example: `"Europe/Berlin"`, Doc: "Your zone, by its IANA name."},
		{Name: "quiet", Unset: "none", Example: `"22:00-07:00"`, Pattern: `^$|^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$`, Doc: "Hours of your day in which only what hurries is sent to you (answers, questions and failures); the rest waits for their end."},
		{Name: "addresses", Example: `["alerts:my-topic"]`, Pattern: `^[^:]+:.+$`, Doc: "Where you are reached, as channel:address; the first one gets what is meant for you, and without any the local chat does."},
	}
}

func toolNotes() []schema.Note {
	return []schema.Note{
		{Name: "roots", Example: `["~/Downloads:foreign", "~/notes:ro", "~/projects:rw"]`, Pattern: `:(ro|rw|foreign)$`, Doc: "Folders that files may be read in (`:ro`) or written in too (`:rw`), beside the workspace; those that others fill are `:foreign`: they are read, what is read there counts as somebody else's text, and commands see them only when the call names them."},
		{Name: "allow", Example: `["read", "ls"]`, Doc: "Names of the tools that may be used; empty: all; `SERVER__*` is every tool of an MCP server, here and in the two below; a name that no tool has is a mistake."},
		{Name: "core", Unset: "the usual ones", Example: `["*"]`, Doc: "Names of the tools that each request to the model carries; the others are searched for and called through the tool `tool`; `*` is all of them."},
		{Name: "deny", Example: `["exec"]`, Doc: "Names of tools that may not be used, also when `allow` has them; `*` is all."},
	}
}

const proxyKey = "proxy"

// proxyOf is the key of a section that names a proxy; unset says what holds without it.
func proxyOf(unset, example string) []schema.Key {
	return schema.Describe(Network{}, []schema.Note{{
		Name: proxyKey, Unset: unset, Example: example, Pattern: `^$|^(none|direct)$|^(https?|socks5h?)://.+$|^(env|file|keyring|cmd):.+$`,
		Doc: "The proxy through which servers are reached: `http://`, `https://` or `socks5://` with host and port, where the password may be a reference (`env:NAME`), or a reference to all of it; `none` is none.",
	}})
}
