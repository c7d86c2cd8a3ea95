package signal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Link returns how to begin a private chat with hob.
func (c *Channel) Link(context.Context) (text, url string, err error) {
	if personForm().MatchString(c.account) {
		return "Open Signal, find hob by its user name, and write the code there.", "", nil
	}
	url = "https://signal.me/#p/" + c.account
	return fmt.Sprintf("Open %s and write the code there; if that account is your own, write it to yourself (Note to Self).", url), url, nil
}

// Account returns the account of the section: before signal-cli runs, there is no other id.
func (c *Channel) Account(context.Context) (string, error) { return c.account, nil }

// Probe checks that the daemon answers.
func (c *Channel) Probe(ctx context.Context) error { return c.rpc.check(ctx) }

// Test checks that the daemon answers, knows the account and delivers its messages, and that hob is a member
// of the groups. It receives nothing.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	if err := c.rpc.check(ctx); err != nil {
		return nil, fmt.Errorf("signal-cli does not answer at %s: %w", c.rpc.base, err)
	}
	lines := []string{fmt.Sprintf("signal-cli answers at %s.", c.rpc.base)}
	r := &reader{channel: c, me: me{Number: c.account}}
	if personForm().MatchString(c.account) {
		r.me = me{UUID: c.account}
	}
	if err := r.findAccount(ctx); err != nil {
		return lines, r.explain(err)
	}
	lines = append(lines, fmt.Sprintf("It has the account %s, with the account id %s.", c.account, orUnknown(r.me.UUID)))
	if err := r.checkStream(ctx); err != nil {
		return lines, r.explain(err)
	}
	lines = append(lines, "It delivers the messages of that account.")
	if len(c.Groups) == 0 {
		return append(lines, "It listens to no groups (groups is empty)."), nil
	}
	var groups []group
	if err := c.rpc.call(ctx, "listGroups", c.rpc.own(nil), &groups); err != nil {
		return lines, err
	}
	var missing []error
	for _, id := range c.Groups {
		i := slices.IndexFunc(groups, func(g group) bool { return g.ID == id })
		if i < 0 || !groups[i].Member {
			missing = append(missing, fmt.Errorf("groups: hob is not a member of %s: add it there, in Signal", id))
			continue
		}
		lines = append(lines, fmt.Sprintf("It is a member of %q.", groups[i].Name))
	}
	return lines, errors.Join(missing...)
}

// orUnknown returns a text for an id that may be unknown.
func orUnknown(id string) string {
	return cmp.Or(id, "unknown")
}
