package oauth

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"hob/daemon/event"
)

// Party is an account with what happens at the end of its sign-ins.
type Party struct {
	Account *Account
	// Complete completes the sign-in, and answers the questions about it. in is the message that the address came with; zero: there was none.
	// Its errors are *event.Fault.
	Complete func(ctx context.Context, values url.Values, in event.In) (event.Receipt, error)
}

// SignIns are all accounts of a process whose sign-ins end at RedirectAddress. The zero value has none. It is safe for concurrent use.
type SignIns struct {
	mu     sync.Mutex
	lists  []func(ctx context.Context) []Party
	logins map[string]*Login // the newest that a terminal waits for, by the command that begins it
}

// Add adds accounts. list is called for each address that arrives.
func (s *SignIns) Add(list func(ctx context.Context) []Party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = append(s.lists, list)
}

func (s *SignIns) parties(ctx context.Context) (all []Party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.lists {
		all = append(all, list(ctx)...)
	}
	return all
}

// Arrived completes the sign-in that the parameters of a redirect belong to: several may wait for the same port.
func (s *SignIns) Arrived(ctx context.Context, values url.Values) error {
	for _, p := range s.parties(ctx) {
		if owns, err := p.Account.Owns(ctx, values.Get("state")); err == nil && owns {
			_, err := p.Complete(ctx, values, event.In{})
			return err
		}
	}
	return unknownState()
}

func unknownState() error {
	return event.NewFault(event.Invalid, "use the newest link, or begin again: hob mcp login NAME, hob account login NAME", "the address does not belong to an open sign-in: its state is another one")
}

// marker is the part of a redirect address that a message with one has.
func marker() string { return fmt.Sprintf(":%d%s?", RedirectPort, RedirectPath) }

// redirected looks for the address of a sign-in in a message. The party is nil if it belongs to none that hob knows; found is false for any
// other text.
func (s *SignIns) redirected(ctx context.Context, text string) (party *Party, values url.Values, found bool) {
	plain, err := url.QueryUnescape(text)
	marked := strings.Contains(text, marker()) || err == nil && strings.Contains(plain, marker())
	if !marked && !(strings.Contains(text, "state=") && (strings.Contains(text, "code=") || strings.Contains(text, "error="))) {
		return nil, nil, false
	}
	pieces := []string{text}
	for _, whole := range []string{plain, text} { // the first piece without white space is tried first: words may follow it
		if _, rest, ok := strings.Cut(whole, marker()); ok {
			pieces = append(strings.Fields(rest)[:min(1, len(strings.Fields(rest)))], append(pieces, rest)...)
		}
	}
	for _, one := range s.parties(ctx) {
		for _, p := range pieces {
			parsed, err := Parse(p)
			if err != nil {
				continue
			}
			if owns, err := one.Account.Owns(ctx, parsed.Get("state")); err != nil || owns {
				return &one, parsed, true // what cannot be read now may be its own
			}
		}
	}
	return nil, nil, marked
}

// Take takes the address of a sign-in out of what somebody has sent, before it is stored. taken is false for other messages. finish completes
// the sign-in; it stores the message without the address, as the answer to its question. Its errors are *event.Fault, for the sender.
func (s *SignIns) Take(ctx context.Context, in event.In) (finish func(ctx context.Context) (event.Receipt, error), taken bool) {
	party, values, found := s.redirected(ctx, in.Text())
	if !found {
		return nil, false
	}
	in.Parts, in.Kind = event.Say("(the address of a sign-in)"), event.Message
	return func(ctx context.Context) (event.Receipt, error) {
		switch {
		case in.Trust != event.Owner || in.Tainted || in.Origin.Edits != "" || in.Source == event.Endpoint:
			return event.Receipt{}, event.NewFault(event.Refused, "paste it yourself, in our private chat", "the address of a sign-in counts only in a new message of yours in our private chat: it was not used")
		case party == nil:
			return event.Receipt{}, unknownState()
		}
		return party.Complete(ctx, values, in)
	}, true
}
