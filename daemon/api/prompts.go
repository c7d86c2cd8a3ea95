package api

import "hob/daemon/llm"

// SessionPrompt is what every request of a session begins with: the system text and the tools, byte for byte as they are sent.
type SessionPrompt struct {
	Session  string       `json:"session"`         // its key
	ID       int64        `json:"id,omitempty"`    // 0: it has not begun
	Guest    bool         `json:"guest,omitempty"` // of a conversation that is not the owner's private one
	Stored   bool         `json:"stored"`          // false: the next request would take this, and then keep it
	System   string       `json:"system"`
	Tools    []llm.Tool   `json:"tools"`
	Parts    []PromptPart `json:"parts"`
	Tokens   int          `json:"tokens"`   // estimated
	Problems []string     `json:"problems"` // what is missing of the workspace files, a sentence each
}

// PromptPart is the size of a part. Tokens are estimated from the bytes, rather too many than too few.
type PromptPart struct {
	Name   string `json:"name"` // "identity", a workspace file, "tool read"
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}
