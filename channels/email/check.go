package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/emersion/go-imap/v2"
)

// noTrust says what to do where nobody vouches for who writes.
const noTrust = "hob cannot know who writes: set trust_results to the name that your mail server puts first into the header Authentication-Results of what comes in"

// Account is the mailbox.
func (c *Channel) Account(context.Context) (string, error) { return c.cfg.identity(), nil }

// Link is how to write to hob.
func (c *Channel) Link(context.Context) (text, url string, err error) {
	if c.cfg.TrustResults == "" {
		return "", "", errors.New(noTrust)
	}
	return fmt.Sprintf("Write a new mail to %s with nothing but the code in it.", c.cfg.Address), "mailto:" + c.cfg.Address, nil
}

// Test logs in to both servers, and looks at the folders and at who vouches for the latest mail. It changes and sends nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	b, err := c.openBox(ctx)
	if err != nil {
		return nil, err
	}
	defer b.end()
	lines := []string{fmt.Sprintf("%s takes the log-in as %s.", c.cfg.IMAP, c.cfg.User)}
	sent, err := b.sent()
	if err != nil {
		return lines, err
	}
	folder, err := b.look(c.cfg.Folder)
	if err != nil {
		return lines, err
	}
	lines = append(lines, fmt.Sprintf("The folder %s has %d mails.", c.cfg.Folder, folder.NumMessages))
	if b.Caps().Has(imap.CapIdle) {
		lines = append(lines, "The server announces new mail (IDLE).")
	} else {
		lines = append(lines, fmt.Sprintf("The server does not announce new mail: hob asks every %s.", askEvery))
	}
	if sent == "" {
		lines = append(lines, "There is no folder of what was sent: after a crash hob cannot tell whether a mail has left.")
	} else {
		lines = append(lines, fmt.Sprintf("Copies of what is sent go to %s.", sent))
	}
	p, err := c.openPost(ctx)
	if err != nil {
		return lines, err
	}
	p.end()
	lines = append(lines, fmt.Sprintf("%s takes the log-in as %s.", c.cfg.SMTP, c.cfg.User))
	said, err := c.witness(b, folder)
	return append(lines, said...), err
}

// witness looks whether the latest mail carries the word of the server that is trusted. Where it does not, it says whose word is there, as a line
// for the config.
func (c *Channel) witness(b *box, folder *imap.SelectData) (said []string, err error) {
	var untrusted error
	if c.cfg.TrustResults == "" {
		untrusted = errors.New(noTrust)
	}
	if folder.NumMessages == 0 && untrusted == nil {
		return []string{fmt.Sprintf("There is no mail yet to see whether %s vouches for who writes.", c.cfg.TrustResults)}, nil
	}
	if folder.NumMessages == 0 {
		return nil, untrusted
	}
	head, err := b.latest(folder.NumMessages)
	if err != nil {
		return nil, err
	}
	l, err := c.readHeader(head, "none")
	if err != nil {
		return nil, err
	}
	if l.vouched {
		return []string{fmt.Sprintf("%s vouches for the latest mail, of %s.", c.cfg.TrustResults, l.from)}, nil
	}
	of := cmp.Or(l.from, "nobody who can be told")
	if untrusted == nil {
		said = append(said, fmt.Sprintf("%s does not vouch for the latest mail, of %s: if none of yours is vouched for, look at its header Authentication-Results.", c.cfg.TrustResults, of))
	}
	if l.judge != "" && fold(l.judge) != fold(c.cfg.TrustResults) {
		said = append(said, fmt.Sprintf("The topmost Authentication-Results of the latest mail, of %s, are of this server; only if it is the one that takes in your mail, set: trust_results = %q", of, l.judge))
	}
	return said, untrusted
}
