package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/packaging/service"
)

// setupCommand makes hob setup.
func setupCommand(a *cli.App, reference func() config.Reference) *cobra.Command {
	return setup.Command(a, setup.Program{
		Reference: reference, Version: version().Version, Self: self(),
		Service: func(ctx context.Context, home string) (bool, error) {
			defer restorePath(os.Getenv("PATH"))
			s, err := manage(ctx, a, serviceOf(home), "status")
			if err != nil {
				return false, err
			}
			if !s.spec.System && s.machine.OS == "linux" && service.Installed(s.machine, true) {
				a.Note("the service of the whole machine is installed too, and is another hob with a home of its own; to run only yours: sudo systemctl disable --now hob")
			}
			st, err := s.manager.State(ctx)
			return st.Installed, err
		},
		Install: func(ctx context.Context, home string) error { return installService(ctx, a, home) },
	})
}

// restorePath puts back the PATH of the shell, with which setup starts hob.
func restorePath(path string) { _ = os.Setenv("PATH", path) }

// serviceOf are the flags that choose the service of a home. One of the whole machine does not serve the owner's own home.
func serviceOf(home string) serviceFlags {
	system := home == service.SystemHome
	return serviceFlags{user: !system, system: system}
}

// installService is hob service install for a home.
func installService(ctx context.Context, a *cli.App, home string) error {
	defer restorePath(os.Getenv("PATH"))
	s, err := manage(ctx, a, serviceOf(home), "install")
	if err != nil {
		return err
	}
	// The wizard has promised that hob runs after a restart of the machine.
	if err := s.offerLinger(ctx, true); err != nil {
		return err
	}
	steps, err := s.plan(ctx, "install")
	if err != nil {
		return err
	}
	return s.carryOut(ctx, steps, "install")
}
