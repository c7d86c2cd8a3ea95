package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// completing is how long completion waits for the description of a tool.
const completing = 2 * time.Second

// completeTool offers the names of tools, and after a name the flags of that tool and their values. Where any
// text is allowed, the shell offers files. The description of the tool comes from the daemon, so a tool of an
// MCP server is completed like a built-in one.
func completeTool(a *cli.App) cobra.CompletionFunc {
	names := cli.Complete(a, api.Tools)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		name, err := toolName(a, args)
		if err != nil || name == "" {
			return names(cmd, nil, typed)
		}
		form, err := formOf(cmd.Context(), a, name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// The arguments after the name of the tool.
		behind := args[slices.Index(args, name)+1:]
		words, anything := form.Complete(behind, typed)
		if anything {
			return words, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// formOf reads the flags of a tool from the daemon, without any output, because a shell is completing. Nothing
// may be printed to standard error either: it would appear in the middle of the line that is being typed.
func formOf(ctx context.Context, a *cli.App, name string) (*console.Form, error) {
	ctx, stop := context.WithTimeout(ctx, completing)
	defer stop()
	a.Quiet = true
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := specOf(ctx, a, c, name)
	if err != nil {
		return nil, err
	}
	form, err := console.NewForm(spec)
	if err != nil {
		return nil, err
	}
	globals(a, form.Set)
	return form, nil
}
