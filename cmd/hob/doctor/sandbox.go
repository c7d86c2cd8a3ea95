package doctor

import (
	"context"
	"os"
	"time"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/sys"
)

// checkSandbox reports how the running daemon confines commands, since a service may have fewer permissions than this shell. Without a
// daemon it tries the sandbox itself.
func checkSandbox(ctx context.Context, s *facts) (r Result) {
	c := s.status.Sandbox
	// A daemon that has just started may still be probing. Its result is worth the wait, up to the limit of a check.
	for c.Probing && sys.Sleep(ctx, 50*time.Millisecond) {
		if now, err := client.Show(ctx, s.client, api.ShowStatus, ""); err == nil {
			c = now.Sandbox
		}
	}
	if c.Probing {
		return skipCheck("hob still tries it")
	}
	if s.client == nil || s.statusErr != nil || c.Kind == "" {
		if s.config == nil {
			return skipCheck("the config cannot be read")
		}
		// The probe starts hob itself inside the sandbox, as the daemon does for a command.
		self, err := os.Executable()
		if err != nil {
			return Result{State: Fail, Found: err.Error()}
		}
		c = daemon.ProbeSandbox(ctx, s.home, self, s.config)
	}
	// The mode of the config decides how bad it is: "require" runs nothing, "off" was chosen, and "auto" asks
	// before each command.
	switch {
	case !c.Works && c.Mode == "require":
		r.add(Fail, c.Hint, "no command runs: %s", c.Why)
	case !c.Works && c.Mode == "off":
		r.add(Warn, c.Hint, "commands are not confined: %s", c.Why)
	case !c.Works:
		r.add(Warn, c.Hint, "hob asks you before each command, and nothing confines it: %s", c.Why)
	}
	// result uses this text only if nothing was found.
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
	return r.or("%s", how)
}
