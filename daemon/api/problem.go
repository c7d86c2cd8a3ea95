package api

import (
	"net/http"

	"hob/daemon/event"
)

// Problem is the body of every error (RFC 9457, section 3), with hob's own members after the standard ones.
type Problem struct {
	Type      string          `json:"type"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"`
	Hint      string          `json:"hint,omitempty"`
	Kind      event.FaultKind `json:"kind,omitempty"`
	Code      string          `json:"code,omitempty"`      // of the question, when an approval is asked for
	Summary   string          `json:"summary,omitempty"`   // of the call that needs approval
	Reason    string          `json:"reason,omitempty"`    // why that call needs it
	Allow     string          `json:"allow,omitempty"`     // the config line or command that would always allow it; "" when there is none
	Shown     string          `json:"shown,omitempty"`     // what that call would do, as lines for people
	Canonical string          `json:"canonical,omitempty"` // all that matters of that call
	Hash      string          `json:"hash,omitempty"`      // send it back to approve
	Warnings  []string        `json:"warnings,omitempty"`
}

// NewProblem makes the problem of an HTTP status.
func NewProblem(status int, detail, hint string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Hint: hint}
}

func (p *Problem) Error() string { return p.Detail }
