package irc

import (
	"context"
	"fmt"
)

// find is the nick under which an account is logged in now, as the server says it. What is meant for a person never goes to a nick that
// somebody else may have taken meanwhile: the server is asked, and what it says counts for as long as it would tell of a change. Where it does
// not do that, it counts for moments.
func (s *session) find(ctx context.Context, account string) (string, error) {
	nick, candidates := s.behind(account, !s.watches())
	for _, name := range candidates {
		if nick != "" {
			break
		}
		if _, _, err := s.ask(ctx, s.lookup(name)...); err != nil {
			return "", fmt.Errorf("look for %s: %w", account, err)
		}
		nick, _ = s.behind(account, true)
	}
	if nick == "" {
		return "", fmt.Errorf("nobody is there now who is logged in as %s", account[1:])
	}
	return nick, nil
}

// behind is the nick of an account, "" where that is not known, and the nicks to ask for. With moments, what was said just now will do.
func (s *session) behind(account string, moments bool) (nick string, candidates []string) {
	since := s.ch.clock.Mono()
	if moments {
		since -= fresh
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people.behind(account, since), s.people.candidates(account)
}

// stillBehind is an error when the server has said meanwhile that a nick is not, or may not be, the account's any more.
func (s *session) stillBehind(account, nick string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.people.stands(nick, account) {
		return fmt.Errorf("%s is not known to be %s any more", nick, account[1:])
	}
	return nil
}

// lookup are the lines that ask who a nick is (WHOIS, numeric 330). Where the server can, it watches the nick first, so that its answer
// stays true until it says something else.
func (s *session) lookup(nick string) []string {
	if s.watches() {
		return []string{"MONITOR + " + nick, "WHOIS " + nick}
	}
	return []string{"WHOIS " + nick}
}

// watches tells whether the server would tell of a nick that it is gone, and that somebody has logged in or out under it (IRCv3 monitor and
// extended-monitor).
func (s *session) watches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, can := s.isup["MONITOR"]
	return can && s.caps["account-notify"] && (s.caps["extended-monitor"] || s.caps["draft/extended-monitor"]) && len(s.people.watched) < maxWatched
}
