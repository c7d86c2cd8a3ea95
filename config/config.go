// Package config reads config.toml: strictly, with the place of every mistake. It owns the sections of hob's core;
// what belongs to a plug-in (a channel, a job, the shell) stays raw until its owner decodes it. It knows no plug-in,
// resolves no secret and writes nothing but its own copy of the last good file.
package config

import (
	"maps"
	"time"
)

// Snapshot is one state of the configuration. It is read only: a reload makes a new one and swaps it in whole.
type Snapshot struct {
	Model    Model            // Backend "": no model is set, the built-in interpreter serves
	Models   map[string]Model // [models.NAME], named by Fallback, and chosen by name
	Owner    Owner
	Channels []Channel // in the order of the file
	Jobs     []Section // [jobs.NAME], in the order of the file
	Hooks    []Section // [hooks.NAME], webhooks, in the order of the file
	Watches  []Section // [watches.NAME], of files, in the order of the file
	Tools    Tools
	Guard    Guard
	Budget   Budget
	Web      Web
	Daemon   Daemon
	Turn     Turn
	Backup   Backup
	Outbox   Outbox
	Voice    Voice
	Network  Network

	Heartbeat Heartbeat  // without Enabled when the section is off
	ToolHooks []ToolHook // [[tool_hooks]], in the order of the file

	off map[string]bool
}

// Model is [model] or [models.NAME]. What a backend needs, it checks itself.
type Model struct {
	Backend         string   `toml:"backend"`
	Model           string   `toml:"model"`
	APIKey          string   `toml:"api_key"`           // a reference (see daemon/secret) or the key itself
	BaseURL         string   `toml:"base_url"`          // "": the backend's own
	MaxOutputTokens int      `toml:"max_output_tokens"` // tokens; 0: the backend's default
	ContextTokens   int      `toml:"context_tokens"`    // tokens; 0: the backend's default
	Thinking        string   `toml:"thinking"`          // off minimal low medium high xhigh; "": the backend's default
	Fallback        []string `toml:"fallback"`          // names of [models.NAME] that exist, in the order in which they are asked
	Proxy           string   `toml:"proxy"`             // as of Network, which "" takes over; "none" or "direct" is none
	Price           Price    `toml:"price"`             // for answers whose cost the server does not tell

	FirstByteTimeout time.Duration `toml:"first_byte_timeout,omitempty"` // longest wait for the first byte of an answer; 0: two minutes
	IdleTimeout      time.Duration `toml:"idle_timeout,omitempty"`       // longest silence within an answer; 0: one minute
}

// Price is [model.price]: what a million tokens cost, in the budget's currency. All zero: not known, and tokens are counted.
type Price struct {
	Input  float64 `toml:"input"`
	Cached float64 `toml:"cached"` // of input that the provider had in its cache; 0: as Input
	Output float64 `toml:"output"`
}

// Owner is [owner]: the one person that hob works for.
type Owner struct {
	Name      string   `toml:"name"`
	Timezone  string   `toml:"timezone"`  // IANA name; "": not set
	Addresses []string `toml:"addresses"` // "channel:address"; the first one gets what is meant for the owner
	Quiet     string   `toml:"quiet"`     // hours of his day, "22:00-07:00", in which only what hurries is sent to him; "": none
}

// Channel is one [channels.NAME], without its keys kind and proxy, which are read here. The names of hob's own places
// (api, cli, cron, none, owner) are refused.
type Channel struct {
	Kind  string // the section's name unless given
	Proxy string // as of Network, which "" takes over; "none" or "direct" is none
	Section
}

// Tools is [tools]. When the section is off, Deny is everything: a mistake must not widen what the agent may do. For
// the same reason Deny is everything when [[tool_hooks]] is off, has "exec" and "tmux" when [tools.exec] is, and "web_search" when [tools.web] is.
type Tools struct {
	Roots []string // "PATH:ro", "PATH:rw" or "PATH:foreign", beside the workspace
	Allow []string // names of tools; empty: all
	Deny  []string // names of tools, taken out of Allow; "*": all
	Core  []string // names of the tools that each request carries; empty: the usual ones; "*": all
	Exec  Exec
	Web   ToolWeb
}

// DenyAll in Tools.Deny stands for every tool.
const DenyAll = "*"

// Guard is [guard].
type Guard struct {
	Mode string `toml:"mode"` // "ask" (default) or "open"
}

// Budget is [budget]: hard caps of one day. 0 spends nothing; -1, the only negative value, is no cap. A section with a
// mistake keeps the default caps.
type Budget struct {
	PerDay       float64 `toml:"per_day"`        // in the provider's currency, at most a billion; default 5
	TokensPerDay int64   `toml:"tokens_per_day"` // for models whose price is not known; default 2,000,000
}

// Web is [web].
type Web struct {
	// Listen is host:port, the host localhost or a loopback address, port 0 any free one. "" (default) is
	// 127.0.0.1:4620, or any free port where that one is taken.
	Listen string `toml:"listen"`
}

// Daemon is [daemon].
type Daemon struct {
	MaxAttempts   int `toml:"max_attempts"`    // claims of one turn before it is dead-lettered; default 3
	SafeModeAfter int `toml:"safe_mode_after"` // unclean ends within ten minutes; default 3
}

// Turn is [turn]: what one turn may use.
type Turn struct {
	MaxSteps   int           `toml:"max_steps"`   // answers of the model; default 50
	MaxRunning time.Duration `toml:"max_running"` // time running, without waits; default 15 min
}

// Backup is [backup]: the copies of the database that hob makes by itself.
type Backup struct {
	Every  time.Duration `toml:"every"`  // from one to the next; a day or more: at a quiet hour of the owner's; default 24 h
	Daily  int           `toml:"daily"`  // the newest of each of that many days is kept; 0: none are made; default 7
	Weekly int           `toml:"weekly"` // and that of each of that many weeks; default 4
}

// Outbox is [outbox]: how messages go out.
type Outbox struct {
	Live     bool          `toml:"live"`     // answers are shown while they are made, where the channel can; default true
	Hold     time.Duration `toml:"hold"`     // how long one waits, so that the owner can stop it; 0, the default: it is sent at once
	Announce bool          `toml:"announce"` // the owner is told of each that waits
}

// Network is [network]: how hob reaches the servers that the config names.
type Network struct {
	Proxy string `toml:"proxy"` // of channels and models: an address, or a reference to one (see daemon/secret); "": none
}

// Voice is [voice]: where voice notes are turned into words.
type Voice struct {
	BaseURL  string        `toml:"base_url"` // "": nowhere
	Model    string        `toml:"model"`    // default whisper-1
	APIKey   string        `toml:"api_key"`  // a reference (see daemon/secret) or the key itself
	Language string        `toml:"language"` // "": the endpoint finds out
	Timeout  time.Duration `toml:"timeout"`  // of one note; default 1 min
	Price    float64       `toml:"price"`    // of a minute, in the budget's currency; 0: not known, and tokens are counted
}

// Heartbeat is [heartbeat]: how often hob looks by itself whether HEARTBEAT.md asks for something.
type Heartbeat struct {
	Enabled bool          `toml:"enabled"`
	Every   time.Duration `toml:"every"`   // default 30 min
	Active  string        `toml:"active"`  // hours of the owner's day, "08:00-22:00"; "": all of them
	Gate    string        `toml:"gate"`    // a test before each run, as the cron tool takes it; "": none
	Prompt  string        `toml:"prompt"`  // "": hob's own
	Deliver string        `toml:"deliver"` // "": to the owner
}

// Default is the configuration of an empty file.
func Default() *Snapshot {
	return &Snapshot{
		Models: map[string]Model{},
		Tools:  Tools{Exec: defaultExec(), Web: ToolWeb{Search: "duckduckgo"}},
		Guard:  Guard{Mode: "ask"},
		Budget: Budget{PerDay: 5, TokensPerDay: 2_000_000},
		Daemon: Daemon{MaxAttempts: 3, SafeModeAfter: 3},
		Turn:   Turn{MaxSteps: 50, MaxRunning: 15 * time.Minute},
		Backup: Backup{Every: 24 * time.Hour, Daily: 7, Weekly: 4},
		Outbox: Outbox{Live: true},
		Voice:  Voice{Model: "whisper-1", Timeout: time.Minute},
		off:    map[string]bool{},

		Heartbeat: Heartbeat{Enabled: true, Every: 30 * time.Minute},
	}
}

// Off reports whether a section ("guard", "models.local", "channels.alerts") was switched off by a mistake in it.
// A core section that is off has its defaults; a named one is missing. Raw sections are off only in
// what their owners make of them.
func (s *Snapshot) Off(section string) bool { return s.off[section] }

// OffSections names all sections that are off.
func (s *Snapshot) OffSections() []string { return sorted(maps.Keys(s.off)) }
