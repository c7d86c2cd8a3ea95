package discord_test

import (
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestThroughAProxy(t *testing.T) {
	channelstest.ThroughProxy(t, 2, func(t *testing.T, p channelstest.Proxied) channelstest.World {
		f := server(t)
		at := strings.TrimPrefix(f.URL(), "http://")
		p.Names(map[string]string{"discord.com": at})
		return world(f, func() channels.Channel {
			e := p.Through(env(t, nil))
			e.HTTP = f.Client(e.HTTP)
			return openIn(t, e)
		})
	})
}
