// Package tools is the seam to everything that hob can do: a tool is a function with a schema.
//
// A call passes through it in this order. Validate checks the arguments against the schema. Intent
// says what the call would touch, without side effects. The permission rules (daemon/policy) decide on the
// intent. Run carries out the call and returns a Result, whose Changes the store writes in the same
// commit, and whose Next may park or end the turn. New builds a tool from a struct and two
// functions; Set is the list of tools that hob has.
//
// The tools themselves are in the sub-packages, except one: the tool "tool" finds and calls the tools that
// a request does not contain, so it is here, beside the list of them (catalog.go). This package never
// decides about permission and never touches the database.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
)

// Tool is a function with a schema. New builds one from a struct and functions.
type Tool interface {
	// Spec describes the tool. It is constant and cheap.
	Spec() Spec
	// Intent says what the call would touch, without touching it.
	Intent(ctx context.Context, call Call) (Intent, error)
	// Run carries out the call. Errors for the model are results (IsError); a Go error becomes
	// UNKNOWN.
	Run(ctx context.Context, call Call, intent Intent) (Result, error)
}

// Prober is a tool that can find out whether an interrupted run took effect.
type Prober interface {
	Probe(ctx context.Context, call Call, intent Intent) (done bool, err error)
}

// Tracer is a tool that can find the files that an interrupted run has written.
type Tracer interface {
	// Traces lists the marks of the files written since the run started.
	Traces(ctx context.Context, call Call, intent Intent, since time.Time) []Change
}

// Spec describes a tool. The model's schema, the command line, the docs and the tests are derived
// from it.
type Spec struct {
	Name        string          `json:"name"`
	Alias       string          `json:"-"`                    // another name by which a call finds it, which no request contains; "": none
	Group       string          `json:"group"`                // the folder: fs, runtime, …
	Description string          `json:"description"`          // at most 40 tokens
	Parameters  json.RawMessage `json:"parameters"`           // JSON Schema, object at the root, no nulls, stable order
	Output      json.RawMessage `json:"output"`               // JSON Schema of Result.Data
	Positional  string          `json:"positional,omitempty"` // the parameter that "hob tool NAME" takes without a flag
	Example     string          `json:"example,omitempty"`    // one line for help: arguments of "hob tool NAME"
	Core        bool            `json:"core"`                 // contained in each request; the others are reached through the tool "tool"
	ReadOnly    bool            `json:"read_only,omitempty"`  // it never writes; sub-agents get only such tools
	Terminal    bool            `json:"terminal"`             // its purpose is to end or park the turn
	SelfPaging  bool            `json:"self_paging"`          // limits its own output, which is never stored as an artifact

	brief json.RawMessage // see Sent
	line  func() string   // see GenerateSchemas
}

// Call is one call of a tool.
type Call struct {
	ID      string          // "t12_3"; unique; the key for keyed effects
	Turn    int64           // 0 outside a turn
	Session int64           // session id, 0 outside a session
	Key     string          // the session's key, "main"
	Name    string          // name of the tool
	Args    json.RawMessage // validated against Parameters before Intent is called
	Workdir string          // base of relative paths
	ReplyTo event.Address   // reply address of the turn
	Trust   event.Trust     // trust level of the requester
	Guest   bool            // the requester is not the owner, or the session is not the owner's own: no memory
	Zone    string          // the owner's time zone, IANA name
	Now     time.Time       // wall time of the call
	Words   string          // raw text of the turn's newest input that the owner typed; "": none
	Typed   bool            // the owner typed this call on the command line
	Tainted bool            // the turn has read foreign text: everything that it writes is foreign too
	Limited bool            // the run has limits: what it writes counts as foreign
	Scratch string          // the session's folder for foreign files, absolute; may not exist
	Few     bool            // the model's request describes few tools: those of the core may be searched for too
	Plan    bool            // the session is in plan mode: only reading tools run

	Live func(output string) // shows the newest output of a call that still runs; nil: nobody looks
}

// Effect says what happens if a call is repeated.
type Effect string

// The effects.
const (
	Read      Effect = "read"      // may be repeated freely
	Keyed     Effect = "keyed"     // may be repeated with the same key
	Checkable Effect = "checkable" // probe before repeating
	Once      Effect = "once"      // never repeated by hob
)

// Scope is a kind of resource that a call may touch. The table in daemon/policy has a case for each.
type Scope string

// The scopes.
const (
	FSRead      Scope = "fs-read"
	FSWrite     Scope = "fs-write"
	Exec        Scope = "exec"
	Net         Scope = "net"
	Messages    Scope = "message"
	Schedule    Scope = "schedule"
	MemoryScope Scope = "memory"
	Sessions    Scope = "sessions"
	Config      Scope = "config"
	MCP         Scope = "mcp" // a program or service of others, see Intent.Server

	AccountRead  Scope = "account-read"  // an account of the owner at a service, see Intent.Accounts
	AccountWrite Scope = "account-write" // a change in such an account
)

// Path is a resolved path that a call would touch.
type Path struct {
	Path    string `json:"path"`              // absolute, symlinks resolved
	Write   bool   `json:"write"`             //
	Area    Area   `json:"area"`              // from the path guard
	Foreign string `json:"foreign,omitempty"` // why its content is foreign text: "attachment", "outside the roots", …; "": it is not
	Guarded bool   `json:"guarded,omitempty"` // after foreign text the owner is asked before it is read
}

// PathOf converts a place of the path guard for an intent.
func PathOf(p fsguard.Place, write bool) Path {
	return Path{Path: p.Path, Write: write, Area: Area(p.Area), Foreign: p.Foreign, Guarded: p.Guarded}
}

// Area is the part of the file system that a path belongs to. The permission rules decide by it.
type Area string

// The areas of the file system.
const (
	Workspace Area = "workspace" // the workspace, readable and writable
	RootRW    Area = "root-rw"   // a configured root, writable
	RootRO    Area = "root-ro"   // a configured root, readable
	Outside   Area = "outside"   // anywhere else
	Scratch   Area = "scratch"   // workspace/.scratch: files of tainted turns
	Sensitive Area = "sensitive" // keys, credentials, .env
	State     Area = "state"     // hob's own state folder: always refused
)

// Intent is what a call would touch, determined without side effects.
type Intent struct {
	Effect    Effect          `json:"effect"`
	Scopes    []Scope         `json:"scopes"`
	Paths     []Path          `json:"paths,omitempty"`
	Addresses []event.Address `json:"addresses,omitempty"`
	Hosts     []string        `json:"hosts,omitempty"`
	Links     []string        `json:"links,omitempty"`     // full URLs that would be requested, in the form of netguard.Canonical
	Private   bool            `json:"private,omitempty"`   // a host belongs to a private network, by name or address
	Sandboxed bool            `json:"sandboxed,omitempty"` // exec only: it would run in the sandbox
	Foreign   string          `json:"foreign,omitempty"`   // the source of foreign text in the result, in a few words. Foreign paths need not be repeated
	Server    string          `json:"server,omitempty"`    // the MCP server that gets the call
	Cleared   bool            `json:"cleared,omitempty"`   // with Server: the owner allows this call also to turns that have read foreign text
	Accounts  []string        `json:"accounts,omitempty"`  // the owner's accounts at services that the call uses
	Summary   string          `json:"summary"`             // one line for people: "run: df -h"
	Canonical []byte          `json:"-"`                   // everything that matters about the call: shown in approvals and hashed
	Old       []byte          `json:"-"`                   // of a write: the content that it replaces, for the question; nil: absent, large or not known
	Warnings  []string        `json:"warnings,omitempty"`  // constructs that are often mistakes
	Unbound   []string        `json:"unbound,omitempty"`   // parts that an approval does not cover, in a few words each
	Denied    string          `json:"denied,omitempty"`    // why it is refused in every mode
	Confirm   string          `json:"confirm,omitempty"`   // why the owner confirms each such call, even where the rules or a grant would allow it; "": he need not
	Keep      any             `json:"-"`                   // data for Run
}
