package event

import (
	"errors"
	"fmt"
)

// FaultKind classifies the errors that a user can see.
type FaultKind string

// The kinds of faults. The API maps them to HTTP statuses, the command line to exit codes.
const (
	Invalid     FaultKind = "invalid"     // the request is wrong: 400, exit 2
	Missing     FaultKind = "not_found"   // 404, exit 1
	Clash       FaultKind = "conflict"    // the present state does not allow it: 409, exit 1
	TooLarge    FaultKind = "too_large"   // 413, exit 1
	Refused     FaultKind = "denied"      // the permission rules denied it: 403, exit 4
	Pending     FaultKind = "approval"    // it waits for approval: 403 with the code, exit 5
	Unavailable FaultKind = "unavailable" // full, busy or stopping: 503 + Retry-After, exit 1
)

// Fault is an error for people: one sentence and a hint.
type Fault struct {
	Kind FaultKind `json:"kind"`
	Text string    `json:"text"` // one clear sentence, lower case, without a full stop
	Hint string    `json:"hint,omitempty"`
	Err  error     `json:"-"`
}

func (f *Fault) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// NewFault makes a fault of a kind.
func NewFault(kind FaultKind, hint, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// AsFault finds the fault in a chain of errors.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// NamesOnly is a value of Filter.State: only the names of rows are needed, not their content.
const NamesOnly = "names"

// Filter narrows a list of rows. Zero values mean no limit beyond the default of 50 rows, newest first.
type Filter struct {
	Limit int
	State string
	Name  string // the session, job or channel that the rows belong to
}
