package slack_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) {
	f := server(t)
	channelstest.Table(t, "slack", world(f, func() channels.Channel { return open(t, f) }))
}
