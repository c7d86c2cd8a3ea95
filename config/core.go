package config

import (
	"slices"

	"hob/config/schema"
)

// core describes the sections that config reads itself. It is the only description of their keys besides the structs; the checks, the JSON
// schema, the reference page and the completion all use it.
func core() []Part {
	d := Default()
	return slices.Concat([]Part{
		{
			Path: "model", Doc: "The language model. Without this section the built-in interpreter answers; it needs no key and no network.",
			Keys: schema.Describe(d.Model, modelNotes()),
		},
		{
			Path: "models.NAME", Named: "local", Doc: "Another model, to use as a `fallback` or to choose by name (`hob model use NAME`).",
			Like: "model", Example: "backend = \"lmstudio\"\nmodel = \"qwen\"\n", Keys: schema.Describe(d.Model, modelNotes()),
		},
		{Path: "owner", Doc: "The person that hob works for.", Keys: schema.Describe(d.Owner, ownerNotes())},
		{
			Path: "tools", Doc: "The tools that may be used, and the folders that they may use. A mistake in this section denies every tool.",
			Keys: schema.Describe(struct{ Roots, Allow, Deny, Core []string }{}, toolNotes()),
		},
		{
			Path: "tools.exec", Doc: "How shell commands are sandboxed (see sandbox.md), how long they may run, and on which machine. A mistake in this section denies `exec` and `tmux`.",
			Keys: schema.Describe(d.Tools.Exec, execNotes()),
		},
		{
			Path: "tools.web", Doc: "The web search engine, and the secrets that may be sent to the web: see network.md. A mistake in this section denies `web_search`.",
			Keys: schema.Describe(d.Tools.Web, webNotes()),
		},
		mcpPart(d), toolHooksPart(),
		{Path: "endpoints.NAME", Named: "laptop", Doc: "How far a program is trusted that `hob endpoint add NAME` has given a token: see endpoint.md. Without this section it is a known person, and what it writes is foreign text.", Keys: schema.Describe(DefaultEndpoint(), []schema.Note{{
			Name: "trust", Words: []string{"known", "owner"}, Example: `"known"`,
			Doc: "`owner` makes its messages count as yours; only for a program that nobody else writes to and that passes nothing on that it has read.",
		}, {
			Name: "calls_per_minute", Least: "1", Most: "100000", Example: "300", Doc: "The highest number of calls of tools that it may make by MCP in a minute.",
		}})},
		{Path: "guard", Doc: "When hob asks before it acts.", Keys: schema.Describe(d.Guard, []schema.Note{{
			Name: "mode", Words: []string{"ask", "open"}, Example: `"ask"`,
			Doc: "`ask` asks for your approval before an effect that cannot be undone; `open` never asks, but some effects are always denied.",
		}})},
		{Path: "budget", Doc: "Hard limits per day in the owner's time zone: 0 spends nothing, -1 is no limit.", Keys: schema.Describe(d.Budget, []schema.Note{
			{Name: "per_day", Least: "0", Most: "1000000000", Also: "-1 for no cap", Example: "5.0", Doc: "The highest cost of a day, in the provider's currency, for models with a known price."},
			{Name: "tokens_per_day", Least: "0", Also: "-1 for no cap", Example: "2000000", Doc: "The highest number of tokens of a day, for models without a known price."},
		})},
		{Path: "turn", Doc: "The limits of one turn.", Keys: schema.Describe(d.Turn, []schema.Note{
			{Name: "max_steps", Least: "1", Example: "50", Doc: "The highest number of model answers in one turn. Tool calls are not counted."},
			{Name: "max_running", Least: "1s", Example: `"15m"`, Doc: "The longest running time of one turn, without its waits."},
		})},
		{Path: "backup", Doc: "hob's own copies of the database, in `state/backups`; copies that you make are never deleted.", Keys: schema.Describe(d.Backup, []schema.Note{
			{Name: "every", Least: "1h", Example: `"24h"`, Doc: "The interval between copies; with a day or more they are made at a quiet hour of the night."},
			{Name: "daily", Least: "0", Example: "7", Doc: "For this many days the newest copy of each day is kept; 0 makes no copies."},
			{Name: "weekly", Least: "0", Example: "4", Doc: "For this many weeks the newest copy of each week is kept."},
		})},
		{Path: "outbox", Doc: "How messages are sent; see delivery.md.", Keys: schema.Describe(d.Outbox, []schema.Note{
			{Name: "live", Example: "true", Doc: "Show an answer that takes longer than some seconds while it is written, on channels that can edit sent messages."},
			{Name: "hold", Least: "0s", Most: "1h", Example: `"10s"`, Doc: "The delay of messages to other people, during which `hob outbox drop ID` or `/cancel ID` can stop them; 0s sends at once. Messages that you send yourself are never delayed."},
			{Name: "announce", Example: "true", Doc: "Notify you about each delayed message."},
		})},
		{Path: "network", Doc: "How hob reaches the servers of channels, models, accounts and MCP; see proxy.md. Proxy settings of the environment are ignored.", Keys: proxyOf("none", `"http://sam:env:PROXY_PASSWORD@proxy.example.org:3128"`)},
		{Path: "voice", Doc: "The server that transcribes voice notes: any server with OpenAI's API for transcriptions. Without it hob keeps the notes and says that it did not listen; see attachments.md.", Keys: schema.Describe(d.Voice, []schema.Note{
			{Name: "base_url", Unset: "none", Example: `"https://api.openai.com/v1"`, Pattern: `^$|^https?://.+`, Doc: "The server's address, without `/audio/transcriptions`."},
			{Name: "model", Example: `"whisper-1"`, Doc: "The server's name for the model."},
			{Name: "api_key", Unset: "none", Example: `"env:OPENAI_API_KEY"`, Doc: "The key for the server: a reference to a secret, or the key itself."},
			{Name: "language", Unset: "the server finds out", Example: `"de"`, Pattern: `^$|^[a-z]{2,3}$`, Doc: "The spoken language, as an ISO 639 code."},
			{Name: "timeout", Least: "1s", Most: "10m", Example: `"1m"`, Doc: "The time limit for one note."},
			{Name: "price", Unset: "not known: tokens are counted", Least: "0", Most: "1000", Example: "0.006", Doc: "The price of a minute, in the budget's currency, if the server does not report the cost; a server on this machine costs nothing."},
		})},
		{Path: "heartbeat", Doc: "How often hob checks whether `HEARTBEAT.md` in the workspace asks for something. It asks no model while that file is missing or has only headings, or while hob is busy.", Keys: schema.Describe(d.Heartbeat, []schema.Note{
			{Name: "enabled", Example: "true", Doc: "Turn the heartbeat on or off."},
			{Name: "every", Least: "1s", Most: "8760h", Example: `"30m"`, Doc: "The interval between checks."},
			{Name: "active", Unset: "the whole day", Example: `"08:00-22:00"`, Pattern: `^$|^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`, Doc: "The hours of your day in which hob checks; they may cross midnight."},
			{Name: "gate", Unset: "none", Example: `"url:https://example.org/feed.xml"`, Doc: "An additional condition: a command with new output, `exit:COMMAND`, `url:ADDRESS` or `files:GLOB,GLOB`."},
			{Name: "prompt", Unset: "hob's own", Example: `"Do what HEARTBEAT.md says."`, Doc: "The prompt, followed by the file's content; the answer `HEARTBEAT_OK` is not sent."},
			{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Pattern: `^$|^(owner|none)$|^[^:]+:.+$`, Doc: "The recipient of the answer: channel:address, `owner` or `none`."},
		})},
		{Path: "web", Doc: "The local HTTP API.", Keys: schema.Describe(d.Web, []schema.Note{{
			Name: "listen", Unset: "127.0.0.1:4620, or a free port if that one is in use", Example: `"127.0.0.1:4620"`, Pattern: `^$|^.+:[0-9]{1,5}$`,
			Doc: "host:port of this machine only; port 0 means any free port.",
		}})},
		{Path: "daemon", Doc: "How hob handles crashes.", Keys: schema.Describe(d.Daemon, []schema.Note{
			{Name: "max_attempts", Least: "1", Example: "3", Doc: "The number of attempts at a turn before hob gives up."},
			{Name: "safe_mode_after", Least: "1", Example: "3", Doc: "The number of crashes within ten minutes after which hob starts in safe mode."},
		})},
	}, memoryParts(d))
}

// memoryParts describes [memory] and [memory.embeddings].
func memoryParts(d *Snapshot) []Part {
	return []Part{
		{Path: "memory", Doc: "What hob remembers; see memory.md.", Keys: schema.Describe(struct{ Recall bool }{d.Memory.Recall}, []schema.Note{
			{Name: "recall", Example: "true", Doc: "Give the model up to three passages of your memory that fit your message, without being asked."},
		})},
		{Path: "memory.embeddings", Doc: "A server with OpenAI's API for embeddings, so that a search also finds texts that mean the same in other words; see memory.md. Without it hob searches by words. What is searched is sent to this server.", Keys: schema.Describe(d.Memory.Embeddings, []schema.Note{
			{Name: "base_url", Unset: "none", Example: `"http://127.0.0.1:11434/v1"`, Pattern: `^$|^https?://.+`, Doc: "The server's address, without `/embeddings`."},
			{Name: "model", Unset: "none", Example: `"nomic-embed-text"`, Doc: "The server's name for the model."},
			{Name: "api_key", Unset: "none", Example: `"env:OPENAI_API_KEY"`, Doc: "The key for the server: a reference to a secret, or the key itself."},
			{Name: "dimensions", Unset: "the model's own", Least: "0", Most: "8192", Example: "768", Doc: "The length of a vector that the server is asked for. After a change all vectors are made again."},
			{Name: "timeout", Least: "1s", Most: "5m", Example: `"20s"`, Doc: "The time limit for one request."},
			{Name: "price", Unset: "not known: tokens are counted", Least: "0", Most: "1000", Example: "0.02", Doc: "The price of a million tokens, in the budget's currency; a server on this machine costs nothing."},
		})},
	}
}

// modelNotes are the notes of [model] and [models.NAME].
func modelNotes() []schema.Note {
	return []schema.Note{
		{Name: "backend", Unset: "the built-in interpreter", Example: `"openrouter"`, Doc: "The kind of server: see models.md."},
		{Name: "model", Unset: "none", Example: `"provider/name"`, Doc: "The server's name for the model."},
		{Name: "api_key", Unset: "none", Example: `"env:OPENROUTER_API_KEY"`, Doc: "The key for the server: a reference to a secret, or the key itself."},
		{Name: "base_url", Unset: "the backend's own", Example: `"https://openrouter.ai/api/v1"`, Pattern: `^$|^https?://.+`, Doc: "The server's address; required for `compatible`."},
		{Name: "max_output_tokens", Unset: "8192, or what the backend prefers: see model-requests.md", Least: "1", Example: "8192", Doc: "The limit of one answer, in tokens; less than `context_tokens`."},
		{Name: "context_tokens", Unset: "what the server says, else what its backend usually has: see model-requests.md", Least: "1", Example: "200000", Doc: "The size of one request, in tokens."},
		{Name: "thinking", Unset: "the model decides", Words: []string{"off", "minimal", "low", "medium", "high", "xhigh"}, Example: `"medium"`, Doc: "How much the model thinks before it answers."},
		{
			Name: "tools", Unset: "`few` with a window below 16,384 tokens, if `[tools] core` is left out too", Words: []string{"few", "all"}, Example: `"few"`,
			Doc: "The tools that each request describes: the `few` that a small model needs most, or `all` that `[tools] core` says. See models.md.",
		},
		proxyOf("as in `[network]`", `"none"`)[0].Note,
		{Name: "price", Unset: "not known: tokens are counted", Example: "{ input = 3.0, cached = 0.3, output = 15.0 }", Doc: "The model's price, if the server does not report the cost."},
		{Name: "price.input", Least: "0", Most: "100000", Example: "3.0", Doc: "The price of a million input tokens, in the budget's currency."},
		{Name: "price.cached", Unset: "as `input`", Least: "0", Most: "100000", Example: "0.3", Doc: "The price of a million input tokens from the provider's cache."},
		{Name: "price.written", Unset: "as `input`", Least: "0", Most: "100000", Example: "3.75", Doc: "The price of a million input tokens that the provider puts into its cache."},
		{Name: "price.output", Least: "0", Most: "100000", Example: "15.0", Doc: "The price of a million output tokens."},
		{Name: "first_byte_timeout", Unset: "2m", Least: "1s", Most: "1h", Example: `"2m"`, Doc: "The longest wait for the first byte of an answer."},
		{Name: "idle_timeout", Unset: "1m", Least: "1s", Most: "1h", Example: `"1m"`, Doc: "The longest silence within an answer."},
		{
			Name: "plain", Unset: "`first`", Words: []string{"first", "last"}, Example: `"first"`,
			Doc: "In `[model]`: your reminders, lists and other plain commands go to the built-in interpreter `first`, or `last`, when no model answers. See models.md.",
		},
		{Name: "fallback", Example: `["local"]`, Doc: "Names of `[models.NAME]`, asked in this order when the model fails."},
	}
}

// ownerNotes describes the keys of [owner].
func ownerNotes() []schema.Note {
	return []schema.Note{
		{Name: "name", Unset: "none", Example: `"Sam"`, Doc: "What hob calls you."},
		{Name: "timezone", Unset: "the machine's", Example: `"Europe/Berlin"`, Doc: "Your time zone, as an IANA name."},
		{Name: "quiet", Unset: "none", Example: `"22:00-07:00"`, Pattern: `^$|^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$`, Doc: "Your quiet hours: only urgent messages are sent to you (answers, questions and notices of hob itself); the others wait until the end."},
		{Name: "addresses", Example: `["alerts:my-topic"]`, Pattern: `^[^:]+:.+$`, Doc: "Your addresses, as channel:address. Messages to you go to the first one, or without any to the local chat."},
	}
}

// toolNotes describes the keys of [tools].
func toolNotes() []schema.Note {
	return []schema.Note{
		{Name: "roots", Example: `["~/Downloads:foreign", "~/notes:ro", "~/projects:rw"]`, Pattern: `:(ro|rw|foreign)$`, Doc: "Folders besides the workspace that may be read (`:ro`) or also written (`:rw`). `:foreign` is for folders that others fill: hob treats their content as text from somebody else, and commands see such a folder only if the call names it."},
		{Name: "allow", Example: `["read", "ls"]`, Doc: "Names of the tools that may be used; empty: all. Here and in the next two keys, `SERVER__*` means every tool of an MCP server, and the name of an unknown tool is a mistake."},
		{Name: "core", Unset: "the usual ones", Example: `["*"]`, Doc: "Names of the tools in each request to the model; the model finds and calls the others through the tool `tool`; `*` means all."},
		{Name: "deny", Example: `["exec"]`, Doc: "Names of tools that may not be used, even if `allow` has them; `*` means all."},
	}
}

const proxyKey = "proxy"

// proxyOf returns the key proxy of a section. unset says which proxy is used without it.
func proxyOf(unset, example string) []schema.Key {
	return schema.Describe(Network{}, []schema.Note{{
		Name: proxyKey, Unset: unset, Example: example, Pattern: `^$|^(none|direct)$|^(https?|socks5h?)://.+$|^(env|file|keyring|cmd):.+$`,
		Doc: "The proxy for these servers: `http://`, `https://` or `socks5://` with host and port. Its password may be a reference (`env:NAME`), and so may the whole address; `none` means no proxy.",
	}})
}
