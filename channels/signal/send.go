package signal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// later is how long hob waits after a rate limit without a time.
const later = 5 * time.Minute

// target is the place to write to: a person or a group.
type target struct{ Person, Group string }

// params returns the parameters that select the target.
func (t target) params(c *Channel) params {
	p := params{Account: c.account, Group: t.Group}
	if t.Person != "" {
		p.Recipient = []string{t.Person}
	}
	return p
}

// params are the parameters of send and sendTyping.
type params struct {
	Account   string   `json:"account"`
	Recipient []string `json:"recipient,omitempty"`
	Group     string   `json:"groupId,omitempty"`
	Message   string   `json:"message,omitempty"`
	Styles    []string `json:"textStyle,omitempty"` // "START:LENGTH:STYLE", in UTF-16 code units
	QuoteAt   int64    `json:"quoteTimestamp,omitempty"`
	QuoteOf   string   `json:"quoteAuthor,omitempty"`
	Files     []string `json:"attachments,omitempty"`
}

// Send sends one part with Signal's text styles and without link previews. In a group it quotes the answered
// message. Signal has no idempotency key and cannot list sent messages, so that a send without an answer is
// unknown; so is one that signal-cli lost on the way to Signal's server. A group message has arrived if one
// member has it.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	piece := c.Form().Render(d.Body)
	out := to.params(c)
	out.Message = piece.Text
	for _, s := range piece.Styles {
		out.Styles = append(out.Styles, fmt.Sprintf("%d:%d:%s", s.Start, s.Length, s.Name))
	}
	if d.File != nil {
		file, err := dataURI(ctx, d.File)
		if err != nil {
			return "", fmt.Errorf("send a file to %s: %w", d.To, err)
		}
		out.Message, out.Files = strings.TrimSpace(out.Message), []string{file}
	}
	if (to.Group != "" || d.Overtaken) && d.Part == 0 {
		out.QuoteAt, out.QuoteOf = quoted(d.ReplyRef)
	}
	at, err := c.post(ctx, out)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, err)
	}
	return strconv.FormatInt(at, 10), nil
}

// Replies reports that an answer can refer to the message it answers.
func (c *Channel) Replies() bool { return true }

// Typing shows the typing sign for 15 seconds, or until a message arrives.
func (c *Channel) Typing(ctx context.Context, to event.Address) error {
	at, err := c.target(to)
	if err != nil {
		return err
	}
	return c.rpc.call(ctx, "sendTyping", at.params(c), nil)
}

// target parses an address: the account id of a person, or the id of a group.
func (c *Channel) target(to event.Address) (target, error) {
	local := to.Local()
	switch {
	case personForm().MatchString(strings.ToLower(local)):
		return target{Person: strings.ToLower(local)}, nil
	case groupForm(local):
		return target{Group: local}, nil
	}
	return target{}, fmt.Errorf("address %q: want the account id of a person, as in %s:11111111-1111-4111-8111-111111111111, or the id of a group: %w", to, c.name, channels.ErrPermanent)
}

// quoted returns the timestamp and the author of a message id; zero for hob's own messages.
func quoted(ref string) (at int64, author string) {
	author, stamp, ok := strings.Cut(ref, "/")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if !ok || err != nil || !personForm().MatchString(author) {
		return 0, ""
	}
	return at, author
}

// post sends a message and returns its timestamp, which is its id.
func (c *Channel) post(ctx context.Context, out params) (int64, error) {
	c.sends.RLock()
	defer c.sends.RUnlock()
	var w wire.Written
	var sent outcome
	err := c.rpc.call(w.Watch(ctx), "send", out, &sent)
	if err == nil && sent.Timestamp == 0 {
		err = unread(errors.New("no timestamp"))
	}
	if err != nil {
		return 0, c.classify(err, w.Maybe())
	}
	if err := c.verdict(sent.Results); err != nil {
		return 0, err
	}
	fail.Point("sending.answered")
	return sent.Timestamp, nil
}

// classify classifies a failed send. maybe: the request may have reached the daemon.
func (c *Channel) classify(err error, maybe bool) error {
	var no *refused
	switch {
	case !errors.As(err, &no):
		return wire.Statuses{}.Sent(err, maybe || wire.Answered(err))
	case no.Status != 0:
		return byStatus(no, err)
	}
	// The daemon reports results for recipients with an error too; they say more than its code.
	if why := c.verdict(no.Data.Response.Results); why != nil {
		return fmt.Errorf("%w; %w", why, err)
	}
	switch no.Code {
	case untrusted:
		return fmt.Errorf("%w: %s: %w", channels.ErrPermanent, c.changedKey(), err)
	case rateLimited:
		return &channels.RetryAfter{After: later, Err: fmt.Errorf("%s: %w", slower, err)}
	case userError:
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	case noMethod, badParams, badRequest:
		return err // nothing was sent
	}
	return fmt.Errorf("%w: %w", channels.ErrUnknown, err) // the connection to Signal's server broke
}

// byStatus classifies an HTTP status.
func byStatus(no *refused, err error) error {
	switch no.Status {
	case http.StatusGatewayTimeout: // from a proxy that got no answer
		return fmt.Errorf("%w: %w", channels.ErrUnknown, err)
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %w", channels.ErrPermanent, err)
	case http.StatusTooManyRequests:
		return &channels.RetryAfter{After: max(no.After, time.Second), Err: err}
	}
	return err
}

// slower is the reason of a rate limit.
const slower = "this account may send less for a while"

// changedKey says what to do when a person's key has changed.
func (c *Channel) changedKey() string {
	return fmt.Sprintf("the safety number has changed: compare it with the person, then let signal-cli -a %s trust the new one", c.account)
}

// verdict combines the results for the recipients: nil if one of them has the message, or if there are no
// results. Otherwise the most uncertain result counts, because some recipient may have the message.
func (c *Channel) verdict(results []result) error {
	var worst error
	rank := 0
	note := func(n int, err error) {
		if n > rank {
			rank, worst = n, err
		}
	}
	// A group message has one result for each member.
	for _, r := range results {
		switch r.Type {
		case "SUCCESS":
			return nil
		case "UNREGISTERED_FAILURE":
			note(1, fmt.Errorf("%w: this account does not exist on Signal", channels.ErrPermanent))
		case "IDENTITY_FAILURE":
			note(2, fmt.Errorf("%w: %s", channels.ErrPermanent, c.changedKey()))
		case "INVALID_PRE_KEY_FAILURE":
			note(3, fmt.Errorf("%w: the other side's keys cannot be used now", channels.ErrAddress))
		case "RATE_LIMIT_FAILURE":
			note(4, c.limited(r))
		default: // NETWORK_FAILURE, and results of newer versions
			note(5, fmt.Errorf("%w: signal-cli lost the connection to Signal's server (%.50s)", channels.ErrUnknown, r.Type))
		}
	}
	return worst
}

// limited returns the error for a send that Signal delays, or allows only after a captcha.
func (c *Channel) limited(r result) error {
	after := time.Duration(min(r.RetryAfter, int64(30*24*time.Hour/time.Second))) * time.Second
	if after <= 0 {
		after = later
	}
	why := errors.New(slower)
	if r.Token != "" {
		why = fmt.Errorf("%s, or until you show that you are a person: solve https://signalcaptchas.org/challenge/generate.html and run signal-cli -a %s submitRateLimitChallenge --challenge %.200s --captcha WHAT_IT_SHOWS", slower, c.account, r.Token)
	}
	return &channels.RetryAfter{After: after, Err: why}
}
