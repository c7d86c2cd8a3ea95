package wire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hob/channels"
)

// Refusal is an error answer of a platform, or of a proxy in between.
type Refusal struct {
	Says   string        // beginning of the text, as "Telegram says"
	Status int           // HTTP status
	Code   string        // the platform's own code
	Detail string        // the platform's own text
	Own    bool          // the platform itself answers, not a proxy
	Local  bool          // a rate limit applies only to this address
	After  time.Duration // when to retry; 0: not given
	Moved  string        // where the requested thing is now, if given
}

func (e *Refusal) Error() string {
	text := fmt.Sprintf("%s %d", e.Says, e.Status)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Refused returns the refusal in an error, or nil.
func Refused(err error) *Refusal {
	no, _ := errors.AsType[*Refusal](err)
	return no
}

// HasStatus reports whether an error is a refusal with one of the HTTP statuses.
func HasStatus(err error, statuses ...int) bool {
	no := Refused(err)
	return no != nil && slices.Contains(statuses, no.Status)
}

// HasCode reports whether an error is a refusal with one of the platform's codes.
func HasCode(err error, codes ...string) bool {
	no := Refused(err)
	return no != nil && slices.Contains(codes, no.Code)
}

// Final reports whether an error is a refusal that a repeated request would get again.
func Final(err error) bool {
	no := Refused(err)
	return no != nil && no.Status < http.StatusInternalServerError
}

// Unread is a successful answer that cannot be read: the request may have been carried out.
type Unread struct {
	Check string // completes "the answer is …", with the config key to check
	Err   error
}

func (e *Unread) Error() string { return "the answer is " + e.Check + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unread) Unwrap() error { return e.Err }

// Answered reports whether the server answered at all.
func Answered(err error) bool {
	_, odd := errors.AsType[*Unread](err)
	return odd || Refused(err) != nil
}

// Statuses classifies the HTTP statuses of a platform's refusals.
type Statuses struct {
	Credentials []int  // the credentials are not accepted
	Hint        string // what to do about that
	Unsure      []int  // the message may have been delivered
	Never       []int  // it will never be delivered, even if a proxy answers
	NeverOwn    []int  // it will never be delivered, if the platform itself answers
}

// Received classifies an error of receiving for the host: refused credentials are a lasting refusal, a rate
// limit says when to retry, everything else uses the host's backoff.
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

// Sent classifies an error of a send for the pump. maybe: the request may have reached the server. Without a
// readable answer it is then unknown whether the message was delivered. With an answer, it was surely not
// delivered, except for the statuses in Unsure.
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
	// The credentials may be repaired, so the message is kept and retried.
	case slices.Contains(s.Credentials, no.Status):
		return fmt.Errorf("%w; %s", err, s.Hint)
	case slices.Contains(s.Unsure, no.Status) && maybe:
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case slices.Contains(s.Never, no.Status), no.Own && slices.Contains(s.NeverOwn, no.Status):
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	}
	return err
}
