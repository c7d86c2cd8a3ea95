package event

import (
	"fmt"
	"strings"
)

// Address names a place that messages go to: "channel:rest", e.g. "telegram:123456",
// "ntfy.alerts:topic" or "cli:main". Two words stand for themselves: "owner" and "none".
type Address string

// Addresses that are resolved where a message is queued.
const (
	ToOwner Address = "owner" // the owner's first address, else the cli
	ToNone  Address = "none"  // nowhere: the text is kept, not sent
)

// CLI is the address of everything that speaks the local API: the prompt, hob chat, the page.
// What is sent there is delivered by its commit.
const CLI Address = "cli:main"

// Channel is the part before the colon.
func (a Address) Channel() string {
	name, _, _ := strings.Cut(string(a), ":")
	return name
}

// Local is the part behind the colon: what the channel itself calls the place.
func (a Address) Local() string {
	_, local, _ := strings.Cut(string(a), ":")
	return local
}

// ParseAddress checks the form "channel:rest" (or "owner", "none").
func ParseAddress(s string) (Address, error) {
	a := Address(strings.TrimSpace(s))
	if a == ToOwner || a == ToNone {
		return a, nil
	}
	if a.Channel() == "" || a.Local() == "" {
		return "", fmt.Errorf("address %q: want channel:address, owner or none", s)
	}
	return a, nil
}
