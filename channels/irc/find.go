package irc

import (
	"context"
	"fmt"
	"time"

	"hob/channels"
)

// find returns the nick under which an account is logged in now. A message for a person must not reach
// somebody else who took the nick meanwhile, so the server is asked. Its answer is valid until it reports a
// change; if it does not report changes, the answer is valid for moments only.
func (s sender) find(ctx context.Context, account string) (string, error) {
	moments := fresh
	if s.watches() {
		moments = 0
	}
	nick, candidates := s.nickOf(account, moments)
	// The nick that was last used is asked first, then the account's own name.
	for _, name := range candidates {
		if nick != "" {
			break
		}
		if _, _, err := s.session.ask(ctx, s.lookup(name)...); err != nil {
			return "", fmt.Errorf("look for %s: %w", account, err)
		}
		nick, _ = s.nickOf(account, fresh)
	}
	if nick == "" {
		return "", fmt.Errorf("%w: nobody is logged in as %s now", channels.ErrAddress, account[1:])
	}
	return nick, nil
}

// nickOf returns the nick of an account, "" if unknown, and the nicks to ask for. For nicks that are not
// watched, an answer within moments is accepted. After a long silence, for example when the machine slept,
// nothing is accepted: a change may be unread.
func (s sender) nickOf(account string, moments time.Duration) (nick string, candidates []string) {
	now := s.session.ch.clock.Wall()
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	candidates = s.session.people.candidates(account)
	// After a long silence, for example a suspended machine, the records may be outdated.
	if heard := s.session.due.until.Add(-s.session.skew); now.Sub(heard).Abs() > deadAfter {
		return "", candidates
	}
	return s.session.people.nickOf(account, now, moments), candidates
}

// stillNickOf returns an error if the server has reported meanwhile that the nick may no longer belong to the
// account.
func (s sender) stillNickOf(account, nick string) error {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	if !s.session.people.confirmed(nick, account) {
		return fmt.Errorf("%w: %s may no longer be %s", channels.ErrAddress, nick, account[1:])
	}
	return nil
}

// lookup returns the commands that ask for the account of a nick (WHOIS, numeric 330). If the server supports
// it, the nick is watched first (MONITOR), so that the answer stays valid until a change is reported.
func (s sender) lookup(nick string) []string {
	ask := []string{"WHOIS " + nick}
	// MONITOR comes first: a change between the two commands is then reported.
	if s.watches() && !s.isWatched(nick) {
		return append([]string{"MONITOR + " + nick}, ask...)
	}
	return ask
}

// isWatched reports whether the server already watches a nick.
func (s sender) isWatched(nick string) bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.people.watched[fold(nick)]
}

// watches reports whether the server reports when a nick leaves, logs in or logs out (IRCv3 monitor and
// extended-monitor).
func (s sender) watches() bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	_, can := s.session.isup["MONITOR"]
	return can && s.session.caps["account-notify"] && (s.session.caps["extended-monitor"] || s.session.caps["draft/extended-monitor"]) && len(s.session.people.watched) < maxWatched
}
