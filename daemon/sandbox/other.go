//go:build !linux && !darwin

package sandbox

import (
	"context"
	"runtime"
)

func find(context.Context, Config) finding {
	return finding{state: State{Kind: "none", Why: "hob cannot confine commands on " + runtime.GOOS, Hint: "hob asks before every command; Linux and macOS can confine them"}}
}

func systemFolders() []string { return nil }
