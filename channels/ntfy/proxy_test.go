package ntfy_test

import (
	"testing"

	"hob/channels/channelstest"
	"hob/channels/ntfy"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 1, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		return world(t, server(t), p.Through(env(t)), ntfy.Config{Topic: "talk"})
	})
}
