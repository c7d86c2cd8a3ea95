package api

import (
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
)

// SignIn is a sign-in that has begun: the user must open Address.
type SignIn struct {
	Address  string    `json:"address"` // to be opened in a browser
	Loopback bool      `json:"listens"` // a browser on this machine completes it (RFC 8252, section 7.3); otherwise the user pastes the last address
	Note     string    `json:"note,omitempty"`
	Until    time.Time `json:"until"`
}

// SignedOut is the result of a sign-out.
type SignedOut struct {
	Revoked bool `json:"revoked"` // the server has confirmed it; otherwise the last access token stays valid until it expires
}

// Account describes the account that is signed in.
type Account struct {
	SignedIn bool       `json:"signed_in"`         // there are tokens, and the server has not refused them
	Account  string     `json:"account,omitempty"` // the account's id
	Email    string     `json:"email,omitempty"`   // "" when the server names none
	Where    string     `json:"where,omitempty"`   // where the tokens are stored: "keyring", or the path of a file
	Until    *time.Time `json:"until,omitempty"`   // when the access token expires; hob renews it
	Problem  string     `json:"problem,omitempty"` // why the tokens cannot be used, and what to do
}

// Transcription is the result of a check of the endpoint for voice notes.
type Transcription struct {
	BaseURL   string `json:"base_url"` // "": none is configured
	Model     string `json:"model"`
	Key       bool   `json:"key"`               // a key is sent
	Error     string `json:"error,omitempty"`   // why transcription would fail now; it never contains the key
	Temporary bool   `json:"passing,omitempty"` // the error may go away by itself
}

// Roster lists the models of the config.
type Roster = catalog.Roster

// Model is a row of Roster.
type Model = catalog.Row

// ModelDetail is a model with what its server and its answers have shown.
type ModelDetail struct {
	Model
	Learned  []string `json:"learned"` // what the server has refused by name since the start, and what is sent instead
	Turns    int      `json:"turns"`   // the answers of so many turns, the newest ones, are counted
	Answers  int      `json:"answers"`
	Repaired []Repair `json:"repaired"` // the most frequent first, at most 20
}

// Repair counts the answers in which something was read otherwise than the protocol says.
type Repair struct {
	What    string `json:"what"`
	Answers int    `json:"answers"`
}

// ModelServer is a server with its models.
type ModelServer = catalog.Server

// ModelEntry is a model in the list of a server.
type ModelEntry = llm.Entry

// ModelTest is the result of a test of a model.
type ModelTest = catalog.Report

// ModelCheck is one check of such a test.
type ModelCheck = catalog.Check
