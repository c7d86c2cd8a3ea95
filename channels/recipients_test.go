package channels_test

import (
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// TestOwnerAddress chooses where the owner is told something.
func TestOwnerAddress(t *testing.T) {
	owner := []event.Address{"gone:1", "ill:1", "ill:2", "well:1", "best:1"}
	fitness := func(channel string) channels.Fitness {
		return map[string]channels.Fitness{"ill": channels.Failing, "well": channels.Working, "best": channels.Working, "cli": channels.Working}[channel]
	}
	for name, tc := range map[string]struct {
		owner []event.Address
		avoid string
		want  event.Address
	}{
		"nobody":                          {nil, "", event.CLI},
		"the first on a working channel":  {owner, "", "well:1"},
		"another channel":                 {owner, "well", "best:1"},
		"only failing channels":           {owner[:3], "", "ill:1"},
		"only the channel with a failure": {owner[:3], "ill", event.CLI},
		"only unusable channels":          {owner[:1], "", event.CLI},
	} {
		if got := channels.OwnerAddress(tc.owner, tc.avoid, fitness); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestRightOf gives the owner's right before that of a listed person.
func TestRightOf(t *testing.T) {
	named := func(a event.Address) bool { return a == "x:friend" || a == "x:owner" }
	for to, want := range map[event.Address]channels.Right{"x:owner": channels.OwnerRight, "x:friend": channels.NamedRight, "x:stranger": channels.NoRight} {
		if got := channels.RightOf(to, []event.Address{"x:owner"}, named); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}
