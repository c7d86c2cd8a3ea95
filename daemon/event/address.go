package event

import (
	"fmt"
	"strings"
)

// Address names a recipient or sender: "channel:rest", for example "telegram:123456", "ntfy.alerts:topic" or "cli:main". Two addresses
// have no colon: "owner" and "none".
type Address string

// Addresses that are resolved when a message is queued.
const (
	ToOwner Address = "owner" // the owner's first address, or else the cli
	ToNone  Address = "none"  // nowhere: the text is stored but not sent
)

// CLI is the address of everything that uses the local API: the prompt, hob chat, the page. A message to it is delivered as soon as it is
// committed.
const CLI Address = "cli:main"

// Endpoint is the source of messages that programs send to hob's OpenAI-compatible endpoint, and the channel in the addresses of their conversations.
const Endpoint = "endpoint"

// Committed reports whether a message to the address is delivered as soon as it is committed, because its readers ask hob for it.
func (a Address) Committed() bool { return a.Channel() == CLI.Channel() || a.Channel() == Endpoint }

// Channel returns the part before the colon: the name of a channel.
func (a Address) Channel() string {
	name, _, _ := strings.Cut(string(a), ":")
	return name
}

// Local returns the part after the colon: the channel's own name for the place.
func (a Address) Local() string {
	_, local, _ := strings.Cut(string(a), ":")
	return local
}

// ParseAddress checks the form "channel:rest" ("owner" and "none" are valid too).
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
