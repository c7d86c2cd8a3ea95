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

// testVerdict says in a sentence what a test has found, and what to do about it. The network's own error of a server that was not reached
// is for those who look closer, so that it comes last.
func testVerdict(t api.ChannelTest) (text, hint string) {
	switch t.Reason {
	case api.NoWay:
		return fmt.Sprintf("channel %s cannot reach its server: is this machine online, and is the server's name right?", t.Channel), "the error is: " + t.Fault
	case api.NoServer:
		return fmt.Sprintf("channel %s finds no server at its address: is the address right, and does the server run?", t.Channel), "the error is: " + t.Fault
	}
	return fmt.Sprintf("channel %s does not work: %s", t.Channel, t.Fault),
		"its section is [channels." + t.Channel + "] in config.toml; change it with: hob config set channels." + t.Channel + ".KEY VALUE (- for a secret, which is then piped in)"
}
