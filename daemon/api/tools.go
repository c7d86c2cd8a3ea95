package api

import (
	"encoding/json"

	"hob/tools"
)

// ToolCall is one call of a tool from outside a turn. The path names the tool.
type ToolCall struct {
	Input   json.RawMessage `json:"input"`             // a JSON object
	Workdir string          `json:"workdir,omitempty"` // absolute: relative paths start there; "" is the workspace
	Approve string          `json:"approve,omitempty"` // hash of the call that the caller has seen and approves (Problem.Hash); "" approves nothing
}

// Outcome is what a call of a tool answers; hob tool --json prints it.
type Outcome struct {
	Success bool            `json:"success"`
	Result  json.RawMessage `json:"result,omitempty"` // a document of the tool's own type
	Message string          `json:"message"`          // what the model would read; of an error the sentence alone
	Error   tools.Code      `json:"error,omitempty"`
	Hint    string          `json:"hint,omitempty"`
}

// ToolSpec describes a tool.
type ToolSpec = tools.Spec

// Tool is a tool in a list.
type Tool struct {
	tools.Spec
	Why string `json:"missing,omitempty"` // what it needs and does not find, so that it cannot work here
}

// Approval says that a call needs a person's word first. Call again with Hash to give it.
type Approval struct {
	Summary   string   // one line: "run: df -h"
	Reason    string   // why a person has to agree
	Allow     string   // the config line or command that would always allow it; "" when there is none
	Shown     string   // what it would do, as lines for people
	Canonical string   // all that matters of the call, as it is hashed
	Hash      string   // of Canonical
	Code      string   // of the question that was opened; "" when none was
	Question  int64    // its number
	Warnings  []string // patterns that are often mistakes
}

func (a *Approval) Error() string { return "this needs your approval: " + a.Summary }
