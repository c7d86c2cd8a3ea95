package irc_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 1, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		f := modern(t)
		return world(f, "irc:$sam", func() channels.Channel { return openWith(t, p.Through(env()), config(f)) })
	})
}
