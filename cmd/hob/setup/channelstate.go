package setup

import (
	"fmt"
	"slices"
	"strings"

	"hob/daemon/api"
	"hob/daemon/console"
)

// Works reports whether receiving or sending has no error.
// A direction that was not used since the start counts as working.
func Works(d api.Direction) bool {
	return d.State == api.DirectionOK || d.State == api.DirectionUntried
}

// ChannelFault joins the current errors. Past errors are left out; --json has them with their times.
func ChannelFault(r api.Channel) string {
	var list []string
	for _, s := range []api.Direction{r.Receiving, r.Sending} {
		// One cause, such as a wrong token, often stops both directions. It is named once.
		if !Works(s) && !slices.Contains(list, s.LastError) {
			list = append(list, s.LastError)
		}
	}
	return console.OrDash(console.OneLine(strings.Join(list, "; ")))
}

// PairedName names a paired account: the name that it had when it was paired, and the platform's id.
func PairedName(r api.Pairing) string {
	// Some platforms have no names beside the id.
	if r.Name == "" || r.Name == r.Person {
		return console.OneLine(r.Person)
	}
	return fmt.Sprintf("%s (%s)", console.OneLine(r.Name), console.OneLine(r.Person))
}

// testHint says what to do about a channel that does not work. A name that cannot be looked up is mostly a machine without a network.
func testHint(t api.ChannelTest) string {
	if strings.Contains(t.Fault, "no such host") || strings.Contains(t.Fault, "network is unreachable") || strings.Contains(t.Fault, "server misbehaving") {
		return "Is this machine online, and is the server's name right?"
	}
	return "its section is [channels." + t.Channel + "] in config.toml; change it with: hob config set channels." + t.Channel + ".KEY VALUE"
}
