package email_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 2, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		f := server(t, channelstest.EmailOptions{Files: true})
		return world(f, func() channels.Channel { return openWith(t, p.Through(env()), config(f)) })
	})
}
