package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// mostOfItem is the size of a context item, in bytes; the tool checks it too.
const mostOfItem = 512 << 10

// contextCommand makes hob context: texts that are kept by drive and path. Its commands call the same tools as the model.
func contextCommand(a *cli.App) *cobra.Command {
	return cli.Family("context", "Keep texts by name: notes, pages and files that hob looks up", contextListCommand(a), contextWriteCommand(a), contextShowCommand(a), contextSearchCommand(a),
		contextTreeCommand(a), contextRefreshCommand(a), contextRemoveCommand(a))
}

// drives are the drives of context items.
func drives() []string { return []string{"agent", "url", "disk"} }

// itemOf reads the name of an item: DRIVE:PATH, or a path that tells its drive.
func itemOf(arg string) (map[string]any, error) {
	drive, path, ok := strings.Cut(arg, ":")
	switch {
	case ok && slices.Contains(drives(), drive):
	case strings.Contains(arg, "://"):
		drive, path = "url", arg
	case slices.ContainsFunc([]string{"/", "~/", "./", "../"}, func(p string) bool { return strings.HasPrefix(arg, p) }):
		drive, path = "disk", arg
	default:
		drive, path = "agent", arg
	}
	if drive == "disk" && !strings.HasPrefix(path, "~") {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return map[string]any{"drive": drive, "path": path}, nil
}

// contextListCommand makes hob context list.
func contextListCommand(a *cli.App) *cobra.Command {
	f := client.Filter{}
	l := cli.Listing[api.ContextItem]{
		Route: api.ContextItems, Noun: "context items", None: "there are no context items here; keep one with: hob context write", Head: []string{"ITEM", "BYTES", "CHANGED", "REMARK"},
		Row: func(it api.ContextItem, clock cli.Clock) []string {
			return []string{console.OneLine(it.Name()), console.Thousands(it.Bytes), clock(it.Updated), console.OneLine(it.Foreign)}
		},
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the context items", Args: cli.None, Example: "  hob context list\n  hob context list --drive url --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.State != "" && !slices.Contains(drives(), f.State) {
				return cli.Usage("the drives are: "+strings.Join(drives(), ", "), "there is no drive %q", f.State)
			}
			return cli.ListRows(cmd.Context(), a, l, f)
		},
	}
	l.Flags(cmd, &f)
	driveFlag(cmd, &f.State)
	return cmd
}

// contextWriteCommand makes hob context write.
func contextWriteCommand(a *cli.App) *cobra.Command {
	var overwrite bool
	cmd := &cobra.Command{
		Use: "write ITEM [TEXT|-]", Short: "Keep a text, a web page or a file", Args: cli.AtLeast(1, "an ITEM"), ValidArgsFunction: cli.Complete(a, api.ContextItems),
		Long: "Keep a text under a name. ITEM is a path of your choice (projects/garden), an address (https://…) or a file (/…, ~/…, ./… or ../…); agent:, url: or disk: before it\n" +
			"says which. Of an address or a file without TEXT, what it says now is kept. - reads TEXT from the standard input.",
		Example: "  hob context write projects/garden \"tomatoes: row 3\"\n  hob context write --overwrite projects/garden - < garden.md\n  hob context write https://example.org/opening-hours",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := itemOf(args[0])
			if err != nil {
				return err
			}
			text := cli.Joined(args[1:])
			if text == "-" {
				read, err := io.ReadAll(io.LimitReader(a.In, mostOfItem+1))
				if err != nil {
					return err
				}
				if text = string(read); len(read) > mostOfItem {
					return cli.Usage("keep the file itself: hob context write ./FILE", "the text has more than %d KB, and an item holds no more", mostOfItem>>10)
				}
			}
			write := map[string]any{"drive": in["drive"], "path": in["path"], "content": text, "on_conflict": "error"}
			if overwrite {
				write["on_conflict"] = "overwrite"
			}
			if text != "" || in["drive"] == "agent" {
				return callMemory(cmd.Context(), a, "context_write", write)
			}
			// The item is made first, and then read from its source. What is there stays until it has been read.
			write["on_conflict"] = "error"
			made, err := askMemory(cmd.Context(), a, "context_write", write)
			if err != nil {
				return err
			}
			if !made.Success && !(overwrite && made.Error == "CONFLICT") {
				return printOutcome(a, made)
			}
			out, err := askMemory(cmd.Context(), a, "context_refresh", in)
			// An item without a text is of no use, so it does not stay.
			if made.Success && (err != nil || !out.Success) {
				_, gone := askMemory(context.WithoutCancel(cmd.Context()), a, "context_delete", in)
				err = errors.Join(err, gone)
			}
			if err != nil {
				return err
			}
			return printOutcome(a, out)
		},
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace what is kept under that name")
	return cmd
}

// contextTool makes a command that calls a tool with what it reads from its arguments, and with its flags that were given: the tool has defaults of its own.
func contextTool(a *cli.App, tool string, c *cobra.Command, read func(args []string) (map[string]any, error)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		in, err := read(args)
		if err != nil {
			return err
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if n, err := strconv.Atoi(f.Value.String()); f.Changed && err == nil {
				in[toolField(f.Name)] = n
			} else if f.Changed {
				in[toolField(f.Name)] = f.Value.String()
			}
		})
		return callMemory(cmd.Context(), a, tool, in)
	}
	return c
}

// itemTool is contextTool for one item.
func itemTool(a *cli.App, tool, use, short, example string) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cli.Exactly(1, "one ITEM"), ValidArgsFunction: cli.Complete(a, api.ContextItems)}
	return contextTool(a, tool, c, func(args []string) (map[string]any, error) { return itemOf(args[0]) })
}

// contextShowCommand makes hob context show.
func contextShowCommand(a *cli.App) *cobra.Command {
	cmd := itemTool(a, "context_read", "show ITEM", "Print lines of a context item", "  hob context show projects/garden\n  hob context show --offset 200 ~/notes/house.md")
	cmd.Flags().Int("offset", 0, "leave out this many lines")
	cmd.Flags().Int("limit", 0, "how many lines, 1 to 1000 (default 200)")
	return cmd
}

// contextRefreshCommand makes hob context refresh.
func contextRefreshCommand(a *cli.App) *cobra.Command {
	return itemTool(a, "context_refresh", "refresh ITEM", "Read the address or the file of an item again", "  hob context refresh https://example.org/opening-hours")
}

// contextSearchCommand makes hob context search.
func contextSearchCommand(a *cli.App) *cobra.Command {
	cmd := contextTool(a, "context_search", &cobra.Command{
		Use: "search WORDS", Short: "Find what the context items say about something", Args: cli.AtLeast(1, "the WORDS to look for"), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  hob context search tomatoes\n  hob context search --drive url opening hours",
	}, func(args []string) (map[string]any, error) { return map[string]any{"query": cli.Joined(args)}, nil })
	driveFlag(cmd, new(string))
	cmd.Flags().Int("limit", 0, "at most this many passages, 1 to 20 (default 6)")
	return cmd
}

// contextTreeCommand makes hob context tree.
func contextTreeCommand(a *cli.App) *cobra.Command {
	cmd := contextTool(a, "context_tree", &cobra.Command{
		Use: "tree [PATH]", Short: "Show the context items by drive and path", Args: cli.AtMost(1, "a PATH"), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  hob context tree\n  hob context tree projects --max-depth 5",
	}, func(args []string) (map[string]any, error) {
		return map[string]any{"path": strings.Join(args, "")}, nil
	})
	driveFlag(cmd, new(string))
	cmd.Flags().Int("max-depth", 0, "levels of paths to show, 1 to 20 (default 3)")
	return cmd
}

// driveFlag adds --drive.
func driveFlag(cmd *cobra.Command, drive *string) {
	cmd.Flags().StringVar(drive, "drive", "", "only this drive: agent, url or disk")
	cli.CompleteFlag(cmd, "drive", cli.Words(drives()...))
}

// contextRemoveCommand makes hob context rm.
func contextRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ITEM", Short: "Delete a context item", Args: cli.Exactly(1, "one ITEM"), ValidArgsFunction: cli.Complete(a, api.ContextItems),
		Example: "  hob context rm projects/garden\n  hob context rm --yes https://example.org/opening-hours",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, err := itemOf(args[0])
		if err != nil {
			return err
		}
		if err := a.Confirm(cmd.Context(), *yes, "this deletes the context item "+args[0], "delete it?"); err != nil {
			return err
		}
		return callMemory(cmd.Context(), a, "context_delete", in)
	}
	return cmd
}
