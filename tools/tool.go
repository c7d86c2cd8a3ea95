// Package tools is the seam to what hob can do: a tool is a function with a schema.
// It holds the seam, schema derivation, validation and the Set; the tools themselves
// live in its sub-packages. It decides nothing about permission and never touches the database.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
)

// Tool is a function with a schema. New makes one out of a struct and functions.
type Tool interface {
	// Spec is constant and cheap.
	Spec() Spec
	// Intent says what the call would touch, without touching it.
	Intent(ctx context.Context, call Call) (Intent, error)
	// Run carries the call out. Errors that the model should read are results (IsError); a Go error becomes UNKNOWN.
	Run(ctx context.Context, call Call, intent Intent) (Result, error)
}

// Prober is a tool that can tell whether an interrupted run took effect.
type Prober interface {
	Probe(ctx context.Context, call Call, intent Intent) (done bool, err error)
}

// Tracer is a tool that can find what a run has left behind whose end nobody saw: files that it has written.
type Tracer interface {
	// Traces lists the marks of what was written since the run began.
	Traces(ctx context.Context, call Call, intent Intent, since time.Time) []Change
}

// Spec describes a tool. From it come the model's schema, the command line, the docs and the tests.
type Spec struct {
	Name        string          `json:"name"`
	Group       string          `json:"group"`                // the folder: fs, runtime, …
	Description string          `json:"description"`          // at most 40 tokens
	Parameters  json.RawMessage `json:"parameters"`           // JSON Schema, object at the root, no nulls, stable order
	Output      json.RawMessage `json:"output"`               // JSON Schema of Result.Data
	Positional  string          `json:"positional,omitempty"` // the parameter that hob tool NAME takes without a flag
	Example     string          `json:"example,omitempty"`    // one line for help: the arguments of hob tool NAME
	Core        bool            `json:"core"`                 // in each request; the others are reached through the tool "tool"
	ReadOnly    bool            `json:"read_only,omitempty"`  // it has no writing action at all; no other tool gets into the set of sub-agents
	Terminal    bool            `json:"terminal"`             // may end or park the turn as its purpose
	SelfPaging  bool            `json:"self_paging"`          // keeps its own output limits: never shelved

	brief json.RawMessage // see Sent
}

// Call is one call of a tool.
type Call struct {
	ID      string          // "t12_3"; unique; the key of keyed effects
	Turn    int64           // 0 outside a turn
	Session int64           // session id, 0 outside a session
	Key     string          // the session's key, "main"
	Name    string          // the tool's
	Args    json.RawMessage // validated against Parameters before Intent is called
	Workdir string          // relative paths start here
	ReplyTo event.Address   // where the turn answers
	Trust   event.Trust     // who asked
	Zone    string          // the owner's zone, IANA name
	Now     time.Time       // wall time of the call
	Words   string          // the owner's own words that this call comes from, "" when none: the raw text of the turn's newest typed input
	Typed   bool            // the owner typed this very call on the command line
	Tainted bool            // the turn has read foreign text: what it writes and keeps is foreign too
	Scratch string          // the session's own folder for foreign things, absolute; it need not exist
	Plan    bool            // the session plans: only tools that read run
}

// Effect says what repeating a call would do.
type Effect string

// The classes of effects.
const (
	Read      Effect = "read"      // repeat freely
	Keyed     Effect = "keyed"     // repeat with the same key
	Checkable Effect = "checkable" // probe first
	Once      Effect = "once"      // never repeated by hob
)

// Scope names a kind of thing that a call may touch. The gate's table has a column for each.
type Scope string

// The scopes.
const (
	FSRead   Scope = "fs-read"
	FSWrite  Scope = "fs-write"
	Exec     Scope = "exec"
	Net      Scope = "net"
	Messages Scope = "message"
	Schedule Scope = "schedule"
	MemoryOf Scope = "memory"
	Sessions Scope = "sessions"
	Config   Scope = "config"
)

// Path is a resolved path that a call would touch.
type Path struct {
	Path    string `json:"path"`              // absolute, symlinks resolved
	Write   bool   `json:"write"`             //
	Area    Area   `json:"area"`              // where it lies, told by fsguard
	Foreign string `json:"foreign,omitempty"` // why its content is foreign text: "attachment", "outside the roots", …; "" when it is not
}

// PathOf is a place that fsguard judged, as an intent names it.
func PathOf(p fsguard.Place, write bool) Path {
	return Path{Path: p.Path, Write: write, Area: Area(p.Area), Foreign: p.Foreign}
}

// Area says where a path lies; the gate decides by it.
type Area string

// The areas of the file system.
const (
	Workspace Area = "workspace" // the workspace, readable and writable
	RootRW    Area = "root-rw"   // a configured root, writable
	RootRO    Area = "root-ro"   // a configured root, readable
	Outside   Area = "outside"   // anywhere else
	Scratch   Area = "scratch"   // workspace/.scratch: what tainted turns write
	Sensitive Area = "sensitive" // keys, credentials, .env
	State     Area = "state"     // hob's own state folder: always refused
)

// Intent is what a call would touch, found without side effects.
type Intent struct {
	Effect    Effect          `json:"effect"`
	Scopes    []Scope         `json:"scopes"`
	Paths     []Path          `json:"paths,omitempty"`
	Addresses []event.Address `json:"addresses,omitempty"`
	Hosts     []string        `json:"hosts,omitempty"`
	Links     []string        `json:"links,omitempty"`     // whole addresses that would be asked for, as netguard.Canonical writes them
	Private   bool            `json:"private,omitempty"`   // a host is, by its name or number, of a private network
	Sandboxed bool            `json:"sandboxed,omitempty"` // exec only: it would run confined
	Foreign   string          `json:"foreign,omitempty"`   // the result will hold somebody else's text: from where, in a few words. Foreign paths need not be named again
	Summary   string          `json:"summary"`             // one line for people: "run: df -h"
	Canonical []byte          `json:"-"`                   // all that matters of the call: shown in questions and hashed for approvals
	Warnings  []string        `json:"warnings,omitempty"`  // patterns that are often mistakes
	Unbound   []string        `json:"unbound,omitempty"`   // what may change without the approval being void, in a few words each
	Denied    string          `json:"denied,omitempty"`    // refused in every mode, with this reason
	Keep      any             `json:"-"`                   // what Run needs again
}
