package api

import (
	"encoding/json"

	"hob/tools"
)

// ToolCall is one call of a tool from outside a turn.
type ToolCall struct {
	Name    string
	Args    json.RawMessage // a JSON object
	Workdir string          // absolute: relative paths start there; "" is the workspace
	Approve string          // hash of the call that the caller has seen and approves; "" approves nothing
}

// Outcome is what a call of a tool answers; hob tool --json prints it.
type Outcome struct {
	Success bool       `json:"success"`
	Result  any        `json:"result,omitempty"` // the typed result
	Message string     `json:"message"`          // what the model would read; of an error the sentence alone
	Error   tools.Code `json:"error,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

// MissingTool is a tool that cannot work here; in a list it stands among those that can.
type MissingTool struct {
	tools.Spec
	Why string `json:"missing,omitempty"` // what it needs and does not find
}

// Approval says that a call needs a person's word first. Call again with Hash to give it.
type Approval struct {
	Summary   string   // one line: "run: df -h"
	Reason    string   // why a person has to agree
	Allow     string   // the config line or command that would always allow it; "" when there is none
	Canonical string   // all that matters of the call, as it is hashed
	Hash      string   // of Canonical
	Code      string   // of the question that was opened; "" when none was
	Warnings  []string // patterns that are often mistakes
}

func (a *Approval) Error() string { return "this needs your approval: " + a.Summary }
