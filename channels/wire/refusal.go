package wire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hob/channels"
)

// Refusal is an answer that says no, of a platform or of a proxy before it.
type Refusal struct {
	Says   string        // how its text begins, as "Telegram says"
	Status int           // of HTTP
	Code   string        // the platform's own name for the error
	Detail string        // what it says itself
	Own    bool          // the platform answers, and no proxy before it
	Local  bool          // when it limits the rate: of this address alone
	After  time.Duration // when to come back; 0: it does not say
	Moved  string        // where it says that the thing is now
}

func (e *Refusal) Error() string {
	text := fmt.Sprintf("%s %d", e.Says, e.Status)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Refused is the refusal in an error, nil when there is none.
func Refused(err error) *Refusal {
	no, _ := errors.AsType[*Refusal](err)
	return no
}

// HasStatus reports whether an error is a refusal with one of these statuses.
func HasStatus(err error, statuses ...int) bool {
	no := Refused(err)
	return no != nil && slices.Contains(statuses, no.Status)
}

// HasCode reports whether an error is a refusal with one of the platform's own codes.
func HasCode(err error, codes ...string) bool {
	no := Refused(err)
	return no != nil && slices.Contains(codes, no.Code)
}

// Final reports whether an error is a refusal that another try of the same request would not change.
func Final(err error) bool {
	no := Refused(err)
	return no != nil && no.Status < http.StatusInternalServerError
}

// Unread is an answer of success that cannot be read: what was asked for may have been done.
type Unread struct {
	Check string // what the answer is not, with the key of the config to check
	Err   error
}

func (e *Unread) Error() string { return "the answer is " + e.Check + ": " + e.Err.Error() }

// Unwrap returns why it cannot be read.
func (e *Unread) Unwrap() error { return e.Err }

// Answered reports whether an error came with an answer of the server, whatever that says.
func Answered(err error) bool {
	_, odd := errors.AsType[*Unread](err)
	return odd || Refused(err) != nil
}

// Statuses are what the statuses of a platform's refusals mean.
type Statuses struct {
	Credentials []int  // what hob logs in with is not taken (any more)
	Hint        string // what to do about that
	Unsure      []int  // the message may have been delivered nevertheless
	Never       []int  // it will never be delivered, even if the text says otherwise
	NeverOwn    []int  // it will never be delivered, if the platform says so itself
}

// Received is an error of receiving for the host: a refusal of the credentials lasts, and a rate limit says when to come back.
func (s Statuses) Received(err error) error {
	no := Refused(err)
	switch {
	case no == nil:
		return err
	case slices.Contains(s.Credentials, no.Status):
		return channels.Refused(fmt.Errorf("%w; %s", err, s.Hint))
	case no.Status == http.StatusTooManyRequests:
		return &channels.RetryAfter{After: no.After, Err: err}
	}
	return err
}

// Sent is an error of a send for the pump. maybe tells whether the request may have reached the server: without an answer that can be read
// it is then unknown whether the message was delivered.
func (s Statuses) Sent(err error, maybe bool) error {
	no := Refused(err)
	switch {
	case no == nil && maybe:
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case no == nil:
		return err
	case no.Status == http.StatusTooManyRequests:
		if no.Local {
			err = fmt.Errorf("%w: %w", channels.ErrAddress, err)
		}
		if no.After > 0 {
			return &channels.RetryAfter{After: no.After, Err: err}
		}
	case slices.Contains(s.Credentials, no.Status):
		return fmt.Errorf("%w; %s", err, s.Hint)
	case slices.Contains(s.Unsure, no.Status) && maybe:
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case slices.Contains(s.Never, no.Status), no.Own && slices.Contains(s.NeverOwn, no.Status):
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	}
	return err
}
