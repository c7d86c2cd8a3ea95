package doctor

import (
	"context"
	"os"

	"hob/daemon"
)

// confinement is how shell commands are confined.
type confinement struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	Works   bool   `json:"works"`
	Network bool   `json:"network"`
	Bound   string `json:"bound"`
	Why     string `json:"why"`
	Hint    string `json:"hint"`
}

// confined asks the hob that runs how it confines commands, since a service may do less than a shell; without one it tries.
func confined(ctx context.Context, s *scene) Result {
	c := s.status.Sandbox
	if s.client == nil || s.sick != nil || c == nil {
		if s.config == nil {
			return skip("the config cannot be read")
		}
		self, err := os.Executable()
		if err != nil {
			return Result{State: Fail, Found: err.Error()}
		}
		t := daemon.Confinement(ctx, s.home, self, s.config)
		c = &confinement{t.Kind, string(t.Mode), t.Works, t.Network, t.Bound, t.Why, t.Hint}
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
