package irc

import (
	"context"
	"fmt"
	"time"

	"hob/channels"
)

// find is the nick under which an account is logged in now, as the server says it. What is meant for a person never goes to a nick that
// somebody else may have taken meanwhile: the server is asked, and what it says counts for as long as it would tell of a change. Where it does
// not do that, it counts for moments.
func (s speaker) find(ctx context.Context, account string) (string, error) {
	moments := fresh
	if s.watches() {
		moments = 0
	}
	nick, candidates := s.behind(account, moments)
	for _, name := range candidates {
		if nick != "" {
			break
		}
		if _, _, err := s.ask(ctx, s.lookup(name)...); err != nil {
			return "", fmt.Errorf("look for %s: %w", account, err)
		}
		nick, _ = s.behind(account, fresh)
	}
	if nick == "" {
		return "", fmt.Errorf("%w: nobody is there now who is logged in as %s", channels.ErrAddress, account[1:])
	}
	return nick, nil
}

// behind is the nick of an account, "" where that is not known, and the nicks to ask for. Of nicks that are not watched, what was said within
// moments will do. When nothing was heard for long, as while the machine slept, there may be news on the way.
func (s speaker) behind(account string, moments time.Duration) (nick string, candidates []string) {
	now := s.ch.clock.Wall()
	s.mu.Lock()
	defer s.mu.Unlock()
	candidates = s.people.candidates(account)
	if heard := s.due.until.Add(-s.skew); now.Sub(heard).Abs() > deadAfter {
		return "", candidates
	}
	return s.people.behind(account, now, moments), candidates
}

// stillBehind is an error when the server has said meanwhile that a nick is not, or may not be, the account's any more.
func (s speaker) stillBehind(account, nick string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.people.stands(nick, account) {
		return fmt.Errorf("%w: %s is not known to be %s any more", channels.ErrAddress, nick, account[1:])
	}
	return nil
}

// lookup are the lines that ask who a nick is (WHOIS, numeric 330). Where the server can, it watches the nick first, so that its answer
// stays true until it says something else.
func (s speaker) lookup(nick string) []string {
	ask := []string{"WHOIS " + nick}
	if s.watches() && !s.isWatched(nick) {
		return append([]string{"MONITOR + " + nick}, ask...)
	}
	return ask
}

func (s speaker) isWatched(nick string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people.watched[fold(nick)]
}

// watches tells whether the server would tell of a nick that it is gone, and that somebody has logged in or out under it (IRCv3 monitor and
// extended-monitor).
func (s speaker) watches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, can := s.isup["MONITOR"]
	return can && s.caps["account-notify"] && (s.caps["extended-monitor"] || s.caps["draft/extended-monitor"]) && len(s.people.watched) < maxWatched
}
