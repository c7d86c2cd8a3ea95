package doctor

import (
	"context"
	"time"

	"hob/cmd/hob/cli"
	"hob/packaging/service"
)

// World is what a test puts in the place of the machine.
type World struct {
	Now    time.Time
	Free   int64
	Build  Build
	Root   string            // above the system's files
	Proc   string            // in the place of /proc
	Env    map[string]string // of the terminal
	UID    int               // the owner of all files
	Others map[string]bool   // files that belong to another user
	Hosts  map[string]error  // what looking a name up gives
}

// RunChecks makes all checks in another world.
func RunChecks(ctx context.Context, a *cli.App, repair bool, w World) ([]Result, error) {
	s, err := gatherFacts(ctx, a, w.Build)
	if err != nil {
		return nil, err
	}
	s.now, s.free = func() time.Time { return w.Now }, func(string) (int64, error) { return w.Free, nil }
	s.machine = func() (service.Machine, error) {
		m, err := service.Here()
		m.Root = w.Root
		return m, err
	}
	s.proc, s.env = w.Proc, func(name string) string { return w.Env[name] }
	s.owner = func(path string) (int, bool, error) { return w.UID, !w.Others[path], nil }
	s.lookup = func(_ context.Context, host string) error { return w.Hosts[host] }
	return runChecks(ctx, s, repair), nil
}

// Names are the names of all checks, in their order.
func Names() (list []string) {
	for _, c := range checks() {
		list = append(list, c.name)
	}
	return list
}

// Page is the page about the checks.
func Page() string { return page() }

// SlowCheck is the result of a check that ends only with its context.
func SlowCheck(ctx context.Context) Result {
	return limited(func(ctx context.Context, _ *facts) Result {
		<-ctx.Done()
		return Result{State: Fail, Found: ctx.Err().Error()}
	})(ctx, nil)
}
