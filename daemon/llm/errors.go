package llm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is the kind of a failed model call. It decides whether the call is retried, whether another model is asked, and which sentence the
// user reads.
type Fault string

// The kinds of errors.
const (
	BadRequest Fault = "bad_request" // 400, 422
	Auth       Fault = "auth"        // 401: the key
	Forbidden  Fault = "forbidden"   // 403: a region, a policy or the input is not allowed
	Payment    Fault = "payment"     // 402
	OverBudget Fault = "budget"      // the owner's own budget; nothing was sent
	NotFound   Fault = "not_found"   // 404, or a web page: no such model or address
	TooLarge   Fault = "too_large"   // 413, context overflow
	RateLimit  Fault = "rate_limit"  // 429
	Overloaded Fault = "overloaded"  // 408, 409, 5xx, 529
	Network    Fault = "network"     // no connection, reset, DNS
	Untrusted  Fault = "untrusted"   // the certificate cannot be verified
	Broken     Fault = "stream"      // the stream broke off or ended without a finish reason
	Idle       Fault = "idle"        // no data came for too long
	Malformed  Fault = "malformed"   // the answer breaks the protocol
	Empty      Fault = "empty"       // an answer with neither text nor calls
	Endless    Fault = "endless"     // an answer far longer than the output limit
	NoTools    Fault = "no_tools"    // the model or its server takes no tools; without them hob could do nothing
	NoImages   Fault = "no_images"   // the model takes no images; the next attempt describes them in words
)

// Error is a failed model call. Adapters return it where they know the cause.
type Error struct {
	Fault      Fault
	Status     int           // HTTP status; 0 without one
	RetryAfter time.Duration // the wait that the server asked for; 0 without one
	Text       string        // the server's message, cut to 500 characters
	Begun      bool          // the whole request was sent or the answer had begun, so it may have been billed
	Err        error
}

// Error returns the fault in words, then the details in the order in which they matter to a person.
func (e *Error) Error() string {
	text := e.Fault.words()
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.RetryAfter >= time.Minute {
		text += " (it asks to wait " + span(e.RetryAfter) + ")"
	}
	return text
}

// span formats a wait in hours and minutes: "2h", "1h30m".
func span(d time.Duration) string {
	text := strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		return short + "h"
	}
	return text
}

// words returns the sentence that explains a fault to the user.
func (f Fault) words() string {
	return cmp.Or(map[Fault]string{
		BadRequest: "the model's server refused the request",
		Auth:       "the model's server refused the key",
		OverBudget: "today's budget is used up, or has no room for another request (hob budget show)",
		Forbidden:  "the model's server does not allow this",
		Payment:    "the model's server wants to be paid",
		NotFound:   "the server has no such model or address",
		TooLarge:   "the request is too long for the model",
		RateLimit:  "the model's server limits requests",
		Overloaded: "the model's server is overloaded or broken",
		Network:    "the model's server cannot be reached",
		Untrusted:  "the model's server has a certificate that cannot be trusted",
		Broken:     "the model's answer broke off",
		Idle:       "the model's server fell silent",
		Malformed:  "the model's server sent no valid answer",
		Empty:      "the model gave an empty answer",
		Endless:    "the model's answer did not end",
		NoTools:    "the model cannot call tools here, and hob works through tools",
		NoImages:   "the model takes no images",
	}[f], "the model failed: "+string(f))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same model may answer the same request a little later.
func Retryable(err error) bool {
	return slices.Contains([]Fault{RateLimit, Overloaded, Network, Broken, Idle, Malformed, Empty, NoImages}, FaultOf(err))
}

// Billable reports whether a failed request may have been charged: the model had begun to answer, or this cannot be known. A request that
// was refused by its HTTP status costs nothing.
func Billable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Begun || slices.Contains([]Fault{Broken, Idle, Malformed, Empty, Endless}, e.Fault)
}

// FaultOf returns the fault of err, or "" when err is not an *Error.
func FaultOf(err error) Fault {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fault
	}
	return ""
}

// ofRequest reports whether a fault is one of the request or of the budget, so that it says nothing about the model and the next request.
func (f Fault) ofRequest() bool {
	return slices.Contains([]Fault{BadRequest, TooLarge, NoImages, Endless, OverBudget}, f)
}
