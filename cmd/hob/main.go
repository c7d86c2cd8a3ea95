// Command hob is a background daemon that does chores for one person, and the command line that speaks to it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones on machines that have none

	"hob/cmd/hob/cli"
	"hob/daemon"
)

// main runs one command line and exits with its code.
func main() {
	os.Exit(start(os.Args[1:]))
}

// self is hob's own executable, "" when it is not known.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

// start runs one command and returns its exit code. The first signal asks it to end; the second one kills it.
func start(args []string) int {
	if code, asked := daemon.RunHelper(args); asked { // another hob started this process, not the owner
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the default handling is back, so the second one kills the process.
	context.AfterFunc(ctx, stop)
	a := cli.New()
	root := newRoot(a, args)
	root.SetArgs(args)
	// --json is looked for in the arguments, because their parsing may be what failed.
	return a.Exit(root.ExecuteContext(ctx), cli.WantsJSON(args))
}
