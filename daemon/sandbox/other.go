//go:build !linux && !darwin

package sandbox

import (
	"context"
	"runtime"
)

func find(context.Context, Config) (State, func(layout, []string) ([]string, error)) {
	return State{Kind: "none", Why: "hob cannot confine commands on " + runtime.GOOS, Hint: "every command is asked for; Linux and macOS can do it"}, nil
}

func systemFolders() []string { return nil }

// Enter serves Linux only: asked is always false.
func Enter([]string) (code int, asked bool) { return 0, false }
