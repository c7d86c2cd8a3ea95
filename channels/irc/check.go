package irc

import (
	"context"
	"fmt"
)

// Link returns how to begin a private chat with hob's current nick. Some networks force the nick of the
// account.
func (c *Channel) Link(context.Context) (text, url string, err error) {
	first := "Log in to your account"
	if c.cfg.TrustNicks {
		first = "Take your nick"
	}
	chat := "/query " + c.Nick()
	if c.Nick() == "" {
		chat = fmt.Sprintf("/query %s; hob is not connected now, and may get another nick, which hob channels list shows", c.cfg.Nick)
	}
	return fmt.Sprintf("%s at %s, open a private chat with hob there (%s) and write the code.", first, c.cfg.Server, chat), "", nil
}

// Nick returns hob's current nick, "" while it is not connected.
func (c *Channel) Nick() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		return ""
	}
	return c.live.me()
}

// Account returns the network's host, which the certificate confirms, and the account that hob logs in to, or
// the configured nick. A temporary other nick changes nothing.
func (c *Channel) Account(context.Context) (string, error) {
	return fold(c.host) + "/" + fold(c.cfg.login()), nil
}

// Test connects a second time, under a free nick, and reports what the server supports. It joins no channel.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	s, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.conn.Close() }() // the answers have been read
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	how := "over TLS"
	if c.cfg.Plain {
		how = "without TLS: anybody on the way can read along"
	}
	lines := []string{fmt.Sprintf("%s answers, %s.", c.cfg.Server, how)}
	if err := s.register(); err != nil {
		return lines, err
	}
	if err := s.write("QUIT :bye"); err != nil {
		return lines, err
	}
	if c.cfg.Password != "" || c.cfg.Certificate != "" {
		lines = append(lines, fmt.Sprintf("It accepts the log-in as %s.", c.cfg.login()))
	}
	if nick := c.Nick(); nick != "" {
		lines = append(lines, fmt.Sprintf("hob is connected as %s.", nick))
	} else {
		lines = append(lines, fmt.Sprintf("hob is not connected now; it would be %s.", s.me()))
	}
	if s.keepsHistory() {
		lines = append(lines, "It stores messages while hob is away.")
	} else {
		lines = append(lines, "It does not store messages while hob is away: these are lost, and hob reports that.")
	}
	switch {
	case s.caps["account-tag"]:
		lines = append(lines, "It shows the account of every sender.")
	case s.caps["extended-join"] && s.caps["account-notify"]:
		lines = append(lines, "It shows the accounts of people in hob's channels only: others cannot write to hob.")
	case c.cfg.TrustNicks:
		lines = append(lines, "It shows no accounts: anybody who takes a person's nick is taken for that person (trust_nicks).")
	default:
		return lines, fmt.Errorf("%s shows no accounts, so that nobody can be recognised; choose another server, or set trust_nicks = true if nobody else can take a nick", c.cfg.Server)
	}
	return lines, nil
}
