package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/scheduler"
)

// ownerZone is the owner's time zone: the one of the config, else the machine's. Jobs and days of the budget follow it.
type ownerZone struct {
	config  func() *config.Snapshot
	machine func() string // by IANA name; found once
}

// newOwnerZone asks the machine for its zone only when the config names none, and only once.
func newOwnerZone(c func() *config.Snapshot) *ownerZone {
	return &ownerZone{c, sync.OnceValue(machineZone)}
}

// name is the zone's IANA name.
func (z *ownerZone) name() string {
	if zone := z.config().Owner.Timezone; zone != "" {
		return zone
	}
	return z.machine()
}

// location loads the zone. One that is not known counts as UTC; the check of the config has reported it.
func (z *ownerZone) location() *time.Location {
	zone, err := scheduler.Zone(z.name())
	if err != nil {
		return time.UTC
	}
	return zone
}

// text shows an instant in the zone.
// Chat texts and notices use this format.
func (z *ownerZone) text(t time.Time) string {
	return text.InZone(t, z.location(), false)
}

// now returns a function that tells the time in the zone, for packages that show times to people.
func (z *ownerZone) now(c sys.Clock) func() time.Time {
	return func() time.Time { return c.Wall().In(z.location()) }
}

// machineZone asks TZ, then the target of /etc/localtime, then /etc/timezone; UTC if none of them has a known name.
func machineZone() string {
	names := []string{strings.TrimPrefix(os.Getenv("TZ"), ":")}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(target, "zoneinfo/")
		names = append(names, strings.TrimPrefix(name, "posix/"))
	}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	names = append(names, time.Now().Location().String())
	// The first name that Go's time zone data knows wins.
	for _, name := range names {
		if _, err := scheduler.Zone(name); err == nil {
			return name
		}
	}
	return "UTC"
}
