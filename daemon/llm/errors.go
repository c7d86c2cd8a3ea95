package llm

import (
	"errors"
	"fmt"
	"time"
)

// Fault is the kind of an error of a model call.
type Fault string

// The kinds of errors. Retryable tells which of them are worth another try with the same model.
const (
	BadRequest Fault = "bad_request" // 400, 422
	Auth       Fault = "auth"        // 401, 403
	Payment    Fault = "payment"     // 402
	NotFound   Fault = "not_found"   // 404: no such model or address
	TooLarge   Fault = "too_large"   // 413, context overflow
	RateLimit  Fault = "rate_limit"  // 429
	Overloaded Fault = "overloaded"  // 408, 409, 5xx, 529
	Network    Fault = "network"     // no connection, reset, TLS, DNS
	Broken     Fault = "stream"      // the stream broke, or ended without a finish reason
	Idle       Fault = "idle"        // nothing came for too long
	Malformed  Fault = "malformed"   // an answer that is not the protocol's
	Empty      Fault = "empty"       // an answer without text and calls
	Endless    Fault = "endless"     // an answer far over the output limit
	NoImages   Fault = "no_images"   // the model takes no images; the next try names them in words instead
)

// Error is a failed model call.
type Error struct {
	Fault      Fault
	Status     int           // HTTP status, 0 when there was none
	RetryAfter time.Duration // what the server asked for, 0 when nothing
	Text       string        // the server's words, cut to 500 characters
	Err        error
}

func (e *Error) Error() string {
	text := "model: " + string(e.Fault)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed a little later.
func Retryable(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Fault {
	case RateLimit, Overloaded, Network, Broken, Idle, Malformed:
		return true
	default:
		return false
	}
}

// Retry limits of one request.
const (
	MaxRetries = 8
	firstWait  = time.Second
	longest    = 32 * time.Second
)

// Wait says how long to wait before try number attempt+1 (attempt counts from 1): what the server asked for,
// else exponential from 1 s to 32 s, with jitter in [0,1) spreading it over the upper half. False: do not try again.
func Wait(err error, attempt int, jitter float64) (time.Duration, bool) {
	if !Retryable(err) || attempt > MaxRetries {
		return 0, false
	}
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	d := min(firstWait<<min(attempt-1, 10), longest)
	return d/2 + time.Duration(jitter*float64(d/2)), true
}
