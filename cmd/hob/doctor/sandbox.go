package doctor

import (
	"context"
	"os"

	"hob/daemon"
)

// confined asks the hob that runs how it confines commands, since a service may do less than a shell; without one it tries.
func confined(ctx context.Context, s *scene) Result {
	c := s.status.Sandbox
	if s.client == nil || s.sick != nil || c.Kind == "" {
		if s.config == nil {
			return skip("the config cannot be read")
		}
		self, err := os.Executable()
		if err != nil {
			return Result{State: Fail, Found: err.Error()}
		}
		c = daemon.Confinement(ctx, s.home, self, s.config)
	}
	var v verdict
	switch {
	case !c.Works && c.Mode == "require":
		v.add(Fail, c.Hint, "no command runs: %s", c.Why)
	case !c.Works && c.Mode == "off":
		v.add(Warn, c.Hint, "commands are not confined: %s", c.Why)
	case !c.Works:
		v.add(Warn, c.Hint, "each command is asked for, and not confined: %s", c.Why)
	}
	how := c.Kind + " works, without the network"
	if c.Network {
		how = c.Kind + " works, with the network"
	}
	if c.Works && c.Bound != "" {
		how += "; at most " + c.Bound
	}
	if c.Why != "" {
		how += "; " + c.Why
	}
	return v.result("%s", how)
}
