package matrix_test

import (
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 1, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		f := server(t)
		return world(f, func() channels.Channel { return openWith(t, p.Through(env(t)), f) })
	})
}
