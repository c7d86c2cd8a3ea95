package main

import (
	"context"

	"hob/cmd/hob/setup"
)

// saveConfig is setup.Save, which all commands that change config.toml use.
func saveConfig(path string, before, doc []byte) error { return setup.Save(path, before, doc) }

// keepSecret is setup.KeepSecret.
func keepSecret(home, name, text string) (string, error) { return setup.KeepSecret(home, name, text) }

// loaded is setup.Loaded.
func loaded[R any](ctx context.Context, look func(context.Context) *R) *R {
	return setup.Loaded(ctx, look)
}
