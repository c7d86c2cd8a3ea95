// Package config reads config.toml. It is strict, and reports every mistake with its place. It defines the sections of hob's core, and
// those of the tools: their names (toolnames.go), the limits of shell commands (toolexec.go), the web (toolweb.go) and the owner's
// commands around tool calls (toolhooks.go). These are here because a mistake in them must never allow more than the owner intended, so
// they are checked before any tool is made. The section of a channel or a trigger stays raw until its owner decodes it: the package knows
// no channel, and no field of a job.
//
// A document takes four steps: parse builds a tree of nodes with places (tree.go); override applies environment variables (env.go); the
// decoder fills the structs (decode.go); the checks validate the values (check.go). The result is a Snapshot and a list of Problems
// (load.go). Reloader keeps the snapshot current while the daemon runs (reloader.go, watch.go). Reference describes all keys for help, completion
// and validation (reference.go, settings.go).
//
// The package resolves no secret. It writes no file except its copy of the last good configuration.
package config

import (
	"maps"
	"time"
)

// Snapshot is one state of the configuration. It is read-only; a reload replaces it as a whole.
type Snapshot struct {
	Model    Model            // Backend "": none is configured, and the built-in interpreter answers
	Models   map[string]Model // [models.NAME], for Fallback and to be chosen by name
	Owner    Owner
	Channels []Channel // in the order of the file
	Jobs     []Section // [jobs.NAME], in the order of the file
	Hooks    []Section // webhooks, [hooks.NAME], in the order of the file
	Watches  []Section // file watches, [watches.NAME], in the order of the file
	Tools    Tools
	Guard    Guard
	Budget   Budget
	API
	Daemon Daemon
	Turn   Turn
	Backup Backup
	Outbox Outbox
	Memory Memory
	Servers

	Heartbeat Heartbeat  // not Enabled if the section is off
	ToolHooks []ToolHook // [[tool_hooks]], in the order of the file

	off  map[string]bool
	file string
	root *node // of the document
}

// NamedSecret is a secret, or a reference to one (see daemon/secret).
type NamedSecret struct{ Name, Value string } // Name is what redacted texts show

// Model is [model] or [models.NAME]. The backends check their own requirements.
type Model struct {
	Backend         string   `toml:"backend"`
	Model           string   `toml:"model"`
	APIKey          string   `toml:"api_key"`           // the key, or a reference to it (see daemon/secret)
	BaseURL         string   `toml:"base_url"`          // "": the backend's default
	MaxOutputTokens int      `toml:"max_output_tokens"` // tokens; 0: the backend's default
	ContextTokens   int      `toml:"context_tokens"`    // tokens; 0: the backend's default
	Thinking        string   `toml:"thinking"`          // off minimal low medium high xhigh; "": the backend's default
	Tools           string   `toml:"tools"`             // few or all: the tools that a request describes; "": few if the window is small
	Plain           string   `toml:"plain"`             // only of [model]: "last": the built-in interpreter answers only when no model does; "": first
	Fallback        []string `toml:"fallback"`          // names of existing [models.NAME], in the order in which they are asked
	Proxy           string   `toml:"proxy"`             // as in Network; "" uses that one; "none" or "direct" means no proxy
	Price           Price    `toml:"price"`             // for answers without a cost from the server

	FirstByteTimeout time.Duration `toml:"first_byte_timeout,omitempty"` // longest wait for the first byte of an answer; 0: two minutes
	IdleTimeout      time.Duration `toml:"idle_timeout,omitempty"`       // longest silence within an answer; 0: one minute
}

// Price is [model.price]: the price of a million tokens in the budget's currency. All zero means unknown; then tokens are counted.
type Price struct {
	Input   float64 `toml:"input"`
	Cached  float64 `toml:"cached"`            // for input from the provider's cache; 0: the same as Input
	Written float64 `toml:"written,omitempty"` // for input that the provider puts into its cache; 0: the same as Input
	Output  float64 `toml:"output"`
}

// Owner is [owner]: the person that hob works for.
type Owner struct {
	Name      string   `toml:"name"`
	Timezone  string   `toml:"timezone"`  // IANA name; "": not set
	Addresses []string `toml:"addresses"` // "channel:address"; messages to the owner go to the first one
	Quiet     string   `toml:"quiet"`     // the owner's quiet hours, "22:00-07:00": only urgent messages are sent; "": none
}

// Channel is one [channels.NAME]. Its keys kind and proxy are decoded here, the others by the channel. The names of hob's own addresses
// (api, cli, cron, none, owner) are not allowed.
type Channel struct {
	Kind  string // default: the section's name
	Proxy string // as in Network; "" uses that one; "none" or "direct" means no proxy
	Section
}

// Tools is [tools]. A mistake must never allow more than the owner intended. When [tools] or [[tool_hooks]] is off, Deny therefore contains
// everything; when [tools.exec] is off, it contains "exec" and "tmux"; when [tools.web] is off, "web_search".
type Tools struct {
	Roots []string // "PATH:ro", "PATH:rw" or "PATH:foreign", in addition to the workspace
	Allow []string // names of tools; empty: all
	Deny  []string // names removed from Allow; "*": all
	Core  []string // names of the tools in each request; empty: the default selection; "*": all
	Exec  Exec
	Web   ToolWeb
}

// DenyAll in Tools.Deny denies every tool.
const DenyAll = "*"

// Guard is [guard].
type Guard struct {
	Mode string `toml:"mode"` // "ask" (default) or "open"
}

// Budget is [budget]: hard limits per day. 0 spends nothing; -1, the only negative value, means no limit. A section with a mistake keeps
// the defaults.
type Budget struct {
	PerDay       float64 `toml:"per_day"`        // in the provider's currency, at most a billion; default 5
	TokensPerDay int64   `toml:"tokens_per_day"` // for models without a known price; default 2,000,000
}

// Web is [web].
type Web struct {
	// Listen is host:port. The host is localhost or a loopback address; port 0 means any free port. "", the default, is 127.0.0.1:4620, or
	// any free port if that one is in use.
	Listen string `toml:"listen"`
}

// Daemon is [daemon].
type Daemon struct {
	MaxAttempts   int `toml:"max_attempts"`    // attempts at one turn before it becomes a dead letter; default 3
	SafeModeAfter int `toml:"safe_mode_after"` // crashes within ten minutes before safe mode; default 3
}

// Turn is [turn]: the limits of one turn.
type Turn struct {
	MaxSteps   int           `toml:"max_steps"`   // model answers, each with any number of tool calls; default 50
	MaxRunning time.Duration `toml:"max_running"` // running time, without waits; default 15 min
}

// Backup is [backup]: hob's own copies of the database.
type Backup struct {
	Every  time.Duration `toml:"every"`  // interval; a day or more: at a quiet hour of the owner's; default 24 h
	Daily  int           `toml:"daily"`  // days for which the newest copy is kept; 0: no copies; default 7
	Weekly int           `toml:"weekly"` // the same in weeks; default 4
}

// Outbox is [outbox]: how messages are sent.
type Outbox struct {
	Live     bool          `toml:"live"`     // show an answer while it is written, where the channel can; default true
	Hold     time.Duration `toml:"hold"`     // delay during which the owner can stop a message; 0, the default: none
	Announce bool          `toml:"announce"` // tell the owner about each delayed message
}

// Servers are the sections about the servers that hob reaches besides its models and channels.
type Servers struct {
	MCP     MCP
	Voice   Voice
	Network Network
	Secrets []NamedSecret // all of the file and the environment
}

// Network is [network]: how hob reaches the servers in the config.
type Network struct {
	Proxy string `toml:"proxy"` // for the servers that the config names: an address, or a reference to one (see daemon/secret); "": none
}

// Voice is [voice]: where voice notes are transcribed.
type Voice struct {
	BaseURL  string        `toml:"base_url"` // "": no transcription
	Model    string        `toml:"model"`    // default whisper-1
	APIKey   string        `toml:"api_key"`  // the key, or a reference to it (see daemon/secret)
	Language string        `toml:"language"` // "": the server detects it
	Timeout  time.Duration `toml:"timeout"`  // for one note; default 1 min
	Price    float64       `toml:"price"`    // per minute, in the budget's currency; 0: unknown, so tokens are counted
}

// Memory is [memory]: how hob uses what it remembers.
type Memory struct {
	Recall     bool       // related memories are added to the owner's messages; default true
	Embeddings Embeddings // [memory.embeddings]
}

// Embeddings is [memory.embeddings]: the server that turns texts into vectors. With vectors, a search also finds texts with the same
// meaning and other words.
type Embeddings struct {
	BaseURL    string        `toml:"base_url"` // "": searches compare words only
	Model      string        `toml:"model"`
	APIKey     string        `toml:"api_key"`    // the key, or a reference to it (see daemon/secret)
	Dimensions int           `toml:"dimensions"` // requested length of a vector; 0: the model's own
	Timeout    time.Duration `toml:"timeout"`    // of one request; default 20 s
	Price      float64       `toml:"price"`      // per million tokens, in the budget's currency; 0: unknown, so tokens are counted
}

// Heartbeat is [heartbeat]: how often hob checks whether HEARTBEAT.md asks for something.
type Heartbeat struct {
	Enabled bool          `toml:"enabled"`
	Every   time.Duration `toml:"every"`   // default 30 min
	Active  string        `toml:"active"`  // hours of the owner's day, "08:00-22:00"; "": all day
	Gate    string        `toml:"gate"`    // a condition for each run, in the form of the cron tool; "": none
	Prompt  string        `toml:"prompt"`  // "": hob's default
	Deliver string        `toml:"deliver"` // "": the owner
}

// API is how others reach hob on this machine.
type API struct {
	Web      Web
	Endpoint map[string]Endpoint // [endpoints.NAME]
}

// Endpoint is [endpoints.NAME]: how far a program with its own token is trusted.
type Endpoint struct {
	Trust          string `toml:"trust"`            // "known" or "owner"
	CallsPerMinute int    `toml:"calls_per_minute"` // by MCP
}

// DefaultEndpoint is a program without a section.
func DefaultEndpoint() Endpoint { return Endpoint{Trust: "known", CallsPerMinute: 300} }

// Default returns the configuration of an empty file.
// The sections of plug-ins have no defaults here: their owners supply them.
func Default() *Snapshot {
	return &Snapshot{
		Models:  map[string]Model{},
		API:     API{Endpoint: map[string]Endpoint{}},
		Tools:   Tools{Exec: defaultExec(), Web: ToolWeb{Search: "duckduckgo"}},
		Guard:   Guard{Mode: "ask"},
		Budget:  Budget{PerDay: 5, TokensPerDay: 2_000_000},
		Daemon:  Daemon{MaxAttempts: 3, SafeModeAfter: 3},
		Turn:    Turn{MaxSteps: 50, MaxRunning: 15 * time.Minute},
		Backup:  Backup{Every: 24 * time.Hour, Daily: 7, Weekly: 4},
		Outbox:  Outbox{Live: true},
		Memory:  Memory{Recall: true, Embeddings: Embeddings{Timeout: 20 * time.Second}},
		Servers: Servers{Voice: Voice{Model: "whisper-1", Timeout: time.Minute}},
		off:     map[string]bool{},

		Heartbeat: Heartbeat{Enabled: true, Every: 30 * time.Minute},
	}
}

// Off reports whether a mistake has switched off a section ("guard", "models.local", "channels.alerts"). A core section that is off has its
// defaults; a named section that is off is missing. The owner of a raw section decides about it alone.
func (s *Snapshot) Off(section string) bool { return s.off[section] }

// OffSections returns the names of all sections that are off.
// They are in alphabetical order.
func (s *Snapshot) OffSections() []string { return sorted(maps.Keys(s.off)) }
