package api

import (
	"encoding/json"
	"time"

	"hob/daemon/event"
)

// MCPRowState says what the owner decided about a list of tools.
type MCPRowState string

// The states of a row.
const (
	MCPAsked    MCPRowState = "asked"    // a question is open
	MCPRefused  MCPRowState = "refused"  // the owner said no, or nothing
	MCPAccepted MCPRowState = "accepted" // the list is in use
)

// MCPRow is a decision about what a server offers.
type MCPRow struct {
	Server string
	Hash   string // of List
	List   string // JSON, as package mcp encodes it
	State  MCPRowState
	At     time.Time
}

// MCPServer is a server of [mcp.servers]: how it is reached, and whether the owner has accepted its tools.
type MCPServer struct {
	Name    string    `json:"name"`
	State   string    `json:"state"`             // ready, running, new, asked, changed, refused, off
	Reach   string    `json:"reach"`             // the command line, or the address
	Version string    `json:"version,omitempty"` // of an installed one
	Goes    string    `json:"goes"`              // where what it is given goes
	Hash    string    `json:"hash,omitempty"`    // of what the owner accepted; "": nothing
	Tools   []MCPTool `json:"tools"`             // those that the owner accepted
	LeftOut []string  `json:"left_out,omitzero"` // tools that cannot be used, with the reasons
	Problem string    `json:"problem,omitempty"` // why it cannot be used now
	Skipped string    `json:"skipped,omitempty"` // what hob skips because it is no message, in words
	Behind  []string  `json:"behind,omitempty"`  // with flat = true: tools that requests reach through the tool "tool", with the reasons
}

// MCPTool is a tool of a server.
type MCPTool struct {
	Name        string          `json:"name"`               // as the model calls it
	Original    string          `json:"original,omitempty"` // as the server calls it, if hob cannot
	Description string          `json:"description,omitempty"`
	ReadOnly    bool            `json:"read_only"`
	Tainted     bool            `json:"tainted"` // turns that have read foreign text call it without asking
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// MCPOffer is what a server offers now.
type MCPOffer struct {
	Server   string    `json:"server"`
	Reach    string    `json:"reach"`
	Goes     string    `json:"goes"`
	Name     string    `json:"name,omitempty"`     // as the server calls itself
	Protocol string    `json:"protocol,omitempty"` // the version that it speaks
	Hash     string    `json:"hash"`
	Accepted bool      `json:"accepted"` // it is exactly what the owner accepted
	Changes  []string  `json:"changes"`  // what differs from that, in words; all tools if nothing was accepted
	Allows   []string  `json:"allows"`   // what its section allows it, in words
	Tools    []MCPTool `json:"tools"`
	Skipped  string    `json:"skipped,omitempty"` // what hob skips because it is no message, in words
	MS       int64     `json:"ms"`                // how long it took to start it and to read its list
}

// MCPSource names what is installed: npm:PACKAGE@VERSION or go:MODULE@VERSION. In an answer the version is exact.
type MCPSource struct {
	Source string `json:"source" need:"true"`
}

// MCPHash binds an acceptance to what the owner has looked at.
type MCPHash struct {
	Hash string `json:"hash" need:"true"` // at least 8 of its first digits
}

// MCPQuestion is a question that a server has for the owner while a call runs.
type MCPQuestion struct {
	Turn    int64
	CallID  string
	Text    string
	Options []string
	To      event.Address
	Until   time.Time
}
