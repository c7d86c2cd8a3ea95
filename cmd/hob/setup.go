package main

import (
	"context"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
)

// setupCommand makes hob setup.
func setupCommand(a *cli.App, reference func() config.Reference) *cobra.Command {
	return setup.Command(a, setup.Program{
		Reference: reference, Version: version().Version, Self: self(),
		Service: func(ctx context.Context) (bool, error) {
			s, err := manage(a, serviceFlags{}, "status")
			if err != nil {
				return false, err
			}
			st, err := s.manager.State(ctx)
			return st.Installed, err
		},
		Install: func(ctx context.Context) error { return installService(ctx, a) },
	})
}

// installService is hob service install --user: only the owner's own service has the home that was set up.
func installService(ctx context.Context, a *cli.App) error {
	s, err := manage(a, serviceFlags{user: true}, "install")
	if err != nil {
		return err
	}
	if err := s.offerLinger(ctx); err != nil {
		return err
	}
	steps, err := s.plan(ctx, "install")
	if err != nil {
		return err
	}
	return s.carryOut(ctx, steps, "install")
}
