package slack_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 1, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return openIn(t, f, p.Through(env(t))) })
	})
}
