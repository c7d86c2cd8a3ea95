package email

import (
	"context"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/mail"
)

// Read converts a mail like Run does; the mail's UID is 7.
func (c *Channel) Read(raw []byte) (channels.Message, error) {
	r := &reader{channel: c, conn: &imapConn{}, source: &poll.Source[position]{Pos: position{Validity: 3}}}
	return r.complete(r.arrival(7, fetched{uid: 7, size: 1, at: time.Unix(1, 0), raw: raw}), raw)
}

// Compose returns the mail that Send hands to the server.
func (c *Channel) Compose(ctx context.Context, to string, d channels.Delivery) ([]byte, error) {
	return c.compose(ctx, to, d)
}

// Functions under test.
var (
	Vouched  = verifiedBy
	HTMLText = mail.HTMLText
	Own      = mail.OwnText
)
