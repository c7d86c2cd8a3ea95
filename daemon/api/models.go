package api

import (
	"time"

	"hob/daemon/llm/catalog"
)

// SignIn is a sign-in under way.
type SignIn struct {
	Address string    `json:"address"` // to be opened in a browser
	Listens bool      `json:"listens"` // a browser on this machine ends it by itself; else its last address must be pasted
	Note    string    `json:"note,omitempty"`
	Until   time.Time `json:"until"`
}

// SignedOut says what became of a sign-out.
type SignedOut struct {
	Revoked bool `json:"revoked"` // the server has said so; else the last access token lives to its end
}

// Account says who is signed in.
type Account struct {
	SignedIn bool       `json:"signed_in"`         // there are tokens, and the server has not refused them
	Account  string     `json:"account,omitempty"` // the account's id
	Email    string     `json:"email,omitempty"`   // "" when the server names none
	Where    string     `json:"where,omitempty"`   // what keeps the tokens: "keyring", or the path of a file
	Until    *time.Time `json:"until,omitempty"`   // how long the access token lives; it is renewed by itself
	Problem  string     `json:"problem,omitempty"` // why the tokens are of no use, and what to do
}

// Transcription is what a check of the endpoint came to.
type Transcription struct {
	BaseURL string `json:"base_url"` // "": none is configured
	Model   string `json:"model"`
	Key     bool   `json:"key"`               // one is sent
	Error   string `json:"error,omitempty"`   // why nothing would be transcribed now, without the key
	Passing bool   `json:"passing,omitempty"` // and that may be over by itself
}

// Roster is the models that the config knows.
type Roster = catalog.Roster

// Model is one of them.
type Model = catalog.Row

// ModelServer is a server and the models that it has.
type ModelServer = catalog.Server

// ModelTest is what a test of a model came to.
type ModelTest = catalog.Report

// ModelCheck is one thing that a model was put to.
type ModelCheck = catalog.Check
