package api

import (
	"strings"
	"time"

	"hob/daemon/event"
)

// Endpoint is a program that may talk to hob with a token of its own.
type Endpoint struct {
	ID      int64       `json:"-"`
	Name    string      `json:"name"`
	Trust   event.Trust `json:"trust"` // known, or owner where [endpoints.NAME] says so
	Created time.Time   `json:"created"`
	Used    time.Time   `json:"used,omitzero"`    // when its token was last good, within a minute
	Foreign string      `json:"foreign,omitzero"` // where it got the first foreign text of hob's from; "": none yet

	CallsPerMinute int    `json:"-"` // that it may make by MCP
	Session        string `json:"-"` // tells the programs apart that use hob mcp serve; "": it has a token
}

// MadeEndpoint is a new endpoint with its token, which is shown only once.
type MadeEndpoint struct {
	Endpoint
	URL   string `json:"url"` // what clients call the base URL
	Token string `json:"token"`
}

// ChatOpening is a request for a chat completion as it arrives.
type ChatOpening struct {
	Client int64    // Endpoint.ID
	Name   string   // Endpoint.Name
	Person string   // the field user
	Digest string   // of the person and all messages
	Seen   []string // digests of all messages
	Before string   // the digest of the request that this one continues: without the newest answer and what follows it; "": it begins
	Answer string   // that answer, as the client tells it
}

// ChatRequest is a request for a chat completion that is stored.
type ChatRequest struct {
	ExtID   string
	Session string
	At      time.Time
	Known   []string // digests of messages that the conversation has
	Answers []string // what hob said in it
}

// ChatProgress is how far a request has come.
type ChatProgress struct {
	Inbox     string // state of its row; "": it is not stored
	Turn      int64  // 0: none yet
	State     string // of the turn
	Why       string
	Text      string  // the answer of a turn that is done
	Silent    bool    // no model has said anything in the turn
	Waits     bool    // the turn waits for a person, a time or an event
	Questions []int64 // the open questions that it waits for
	Input     int64   // tokens
	Output    int64   // tokens
}

// TellsAnswer reports whether a client tells an answer as hob gave it. A stream may have begun with what hob said before it called a tool.
func TellsAnswer(told, answer string) bool {
	answer = strings.TrimSpace(answer)
	return answer != "" && strings.HasSuffix(strings.TrimSpace(told), answer)
}
