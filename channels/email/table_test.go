package email_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := server(t, channelstest.EmailOptions{Files: true})
	channelstest.Table(t, "email", world(f, func() channels.Channel { return open(t, config(f)) }), channelstest.World{Server: "dovecot"})
}
