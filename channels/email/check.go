package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/emersion/go-imap/v2"
)

// noTrust says what to do if the sender of mails cannot be verified.
const noTrust = "hob cannot verify senders: set trust_results to the name at the beginning of the Authentication-Results header that your mail server adds to incoming mail"

// Account returns the mailbox: its user, server and folder.
func (c *Channel) Account(context.Context) (string, error) { return c.cfg.identity(), nil }

// Link returns how to write to hob.
func (c *Channel) Link(context.Context) (text, url string, err error) {
	// Without trust_results no sender is accepted, so there is nothing to answer.
	if c.cfg.TrustResults == "" {
		return "", "", errors.New(noTrust)
	}
	return fmt.Sprintf("Write a new mail to %s with nothing but the code in it.", c.cfg.Address), "mailto:" + c.cfg.Address, nil
}

// Test logs in to both servers, opens the folders, and checks whether the newest mail is verified. It changes
// and sends nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	// IMAP first: without the mailbox nothing else can be checked.
	b, err := c.openIMAP(ctx)
	if err != nil {
		return nil, err
	}
	defer b.end()
	lines := []string{fmt.Sprintf("%s accepts the log-in as %s.", c.cfg.IMAP, c.cfg.User)}
	sent, err := b.sentFolder()
	if err != nil {
		return lines, err
	}
	folder, err := b.examine(c.cfg.Folder)
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
		lines = append(lines, "There is no folder for sent mail: after a crash hob cannot tell whether a mail was sent.")
	} else {
		lines = append(lines, fmt.Sprintf("Copies of sent mail go to %s.", sent))
	}
	p, err := c.openSMTP(ctx)
	if err != nil {
		return lines, err
	}
	p.end()
	lines = append(lines, fmt.Sprintf("%s accepts the log-in as %s.", c.cfg.SMTP, c.cfg.User))
	said, err := c.checkVerification(b, folder)
	return append(lines, said...), err
}

// checkVerification checks whether the trusted server verified the newest mail. If not, it reports which server did, as
// a line for the config.
func (c *Channel) checkVerification(b *imapConn, folder *imap.SelectData) (said []string, err error) {
	var untrusted error
	if c.cfg.TrustResults == "" {
		untrusted = errors.New(noTrust)
	}
	if folder.NumMessages == 0 && untrusted == nil {
		return []string{fmt.Sprintf("There is no mail yet to check whether %s verifies senders.", c.cfg.TrustResults)}, nil
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
	if l.verified {
		return []string{fmt.Sprintf("%s has verified the sender of the newest mail, %s.", c.cfg.TrustResults, l.from)}, nil
	}
	of := cmp.Or(l.from, "an unknown sender")
	if untrusted == nil {
		said = append(said, fmt.Sprintf("%s has not verified the sender of the newest mail, %s: if none of your mails is verified, look at their Authentication-Results headers.", c.cfg.TrustResults, of))
	}
	if l.resultsServer != "" && fold(l.resultsServer) != fold(c.cfg.TrustResults) {
		said = append(said, fmt.Sprintf("The topmost Authentication-Results header of the newest mail, from %s, is from another server; only if that server receives your mail, set: trust_results = %q", of, l.resultsServer))
	}
	return said, untrusted
}
