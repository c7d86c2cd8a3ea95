package irc

import (
	"context"
	"fmt"
)

// Link is where a private chat with hob begins: with the nick that hob has now. Some networks give it that of its account.
func (c *Channel) Link(context.Context) (text, url string, err error) {
	first := "Log in to your account"
	if c.cfg.TrustNicks {
		first = "Take your nick"
	}
	chat := "/query " + c.Nick()
	if c.Nick() == "" {
		chat = fmt.Sprintf("/query %s; hob is not connected now, and the network may give it another nick, which hob channels list shows", c.cfg.Nick)
	}
	return fmt.Sprintf("%s at %s, open a private chat with hob there (%s) and write the code.", first, c.cfg.Server, chat), "", nil
}

// Nick is the one that hob has now, "" while it is not connected.
func (c *Channel) Nick() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		return ""
	}
	return c.live.me()
}

// Account is the network by its host, which the certificate vouches for, and the account that hob logs in to, or its nick where it does not. A
// nick that was taken for a while changes nothing.
func (c *Channel) Account(context.Context) (string, error) {
	return fold(c.host) + "/" + fold(c.cfg.login()), nil
}

// Test logs in a second time, under a nick that is free, and says what the server offers. It joins nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	s, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.conn.Close() }() // it has said what was asked
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	how := "over TLS"
	if c.cfg.Plain {
		how = "without TLS: everybody on the way can read along"
	}
	lines := []string{fmt.Sprintf("%s answers, %s.", c.cfg.Server, how)}
	if err := s.register(); err != nil {
		return lines, err
	}
	if err := s.write("QUIT :bye"); err != nil {
		return lines, err
	}
	if c.cfg.Password != "" || c.cfg.Certificate != "" {
		lines = append(lines, fmt.Sprintf("It takes the log-in as %s.", c.cfg.login()))
	}
	if nick := c.Nick(); nick != "" {
		lines = append(lines, fmt.Sprintf("hob is there as %s.", nick))
	} else {
		lines = append(lines, fmt.Sprintf("hob is not there now; it would be as %s.", s.me()))
	}
	if s.keepsHistory() {
		lines = append(lines, "It keeps what is said while hob is away.")
	} else {
		lines = append(lines, "It keeps nothing of what is said while hob is away: that is lost, and hob says so.")
	}
	switch {
	case s.caps["account-tag"]:
		lines = append(lines, "It tells the account of everybody who writes.")
	case s.caps["extended-join"] && s.caps["account-notify"]:
		lines = append(lines, "It tells the accounts of those only who are in a channel with hob: others cannot write to it.")
	case c.cfg.TrustNicks:
		lines = append(lines, "It tells no accounts: whoever takes a nick is that person (trust_nicks).")
	default:
		return lines, fmt.Errorf("%s tells no accounts, so that nobody can be recognised; choose another server, or set trust_nicks = true where nobody else can take a nick", c.cfg.Server)
	}
	return lines, nil
}
