package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// memoryCommand makes hob memory: what hob knows for longer than a conversation, in MEMORY.md and memory/**/*.md. Its commands call the same tools
// as the model.
func memoryCommand(a *cli.App) *cobra.Command {
	return cli.Family("memory", "See and change what hob remembers", memorySearchCommand(a), memoryGetCommand(a), memoryListCommand(a), memoryStatusCommand(a), memoryReindexCommand(a), memoryAddCommand(a), memoryForgetCommand(a))
}

// memorySearchCommand makes hob memory search.
func memorySearchCommand(a *cli.App) *cobra.Command {
	var scope string
	var results, size int
	var score float64
	cmd := &cobra.Command{
		Use: "search WORDS", Short: "Search the memory files, your conversations and context items", Args: cli.AtLeast(1, "the WORDS to look for"), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  hob memory search dentist appointment\n  hob memory search --scope notes --max-results 3 \"flight to Lisbon\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"query": cli.Joined(args)}
			// The tool has defaults of its own for fields that are left out, so only given flags are sent.
			for name, v := range map[string]any{"scope": scope, "max-results": results, "max-bytes": size, "min-score": score} {
				if cmd.Flags().Changed(name) {
					in[toolField(name)] = v
				}
			}
			return callMemory(cmd.Context(), a, "memory_search", in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&scope, "scope", "", "where to look: all, memory, history, context, main (MEMORY.md) or notes (memory/**/*.md)")
	f.IntVar(&results, "max-results", 0, "at most this many passages, 1 to 20 (default 6)")
	f.IntVar(&size, "max-bytes", 0, "at most this much text, 100 to 32000 (default 8000)")
	f.Float64Var(&score, "min-score", 0, "leave weaker passages out while there are better ones, 0 to 1 (default 0.35)")
	cli.CompleteFlag(cmd, "scope", cli.Words("all", "memory", "history", "context", "main", "notes"))
	return cmd
}

// memoryGetCommand makes hob memory get.
func memoryGetCommand(a *cli.App) *cobra.Command {
	var from, lines int
	cmd := &cobra.Command{
		Use: "get FILE", Short: "Print lines of a memory file", Args: cli.Exactly(1, "one FILE"), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  hob memory get MEMORY.md\n  hob memory get memory/trips.md --from 10 --lines 20",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"path": args[0]}
			for name, v := range map[string]int{"from": from, "lines": lines} {
				if cmd.Flags().Changed(name) {
					in[name] = v
				}
			}
			return callMemory(cmd.Context(), a, "memory_get", in)
		},
	}
	cmd.Flags().IntVar(&from, "from", 0, "the first line, from 1 (default 1)")
	cmd.Flags().IntVar(&lines, "lines", 0, "how many lines (default 40)")
	return cmd
}

// memoryListCommand makes hob memory list.
func memoryListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the memory files", Args: cli.None, Example: "  hob memory list\n  hob memory list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.ListRows(cmd.Context(), a, cli.Listing[api.MemoryFile]{
				Route: api.MemoryFiles, None: "there are no memory files yet; add one with: hob memory add", Head: []string{"FILE", "STATE", "BYTES", "PASSAGES", "CHANGED", "REMARK"},
				Row: func(f api.MemoryFile, clock cli.Clock) []string {
					return []string{f.Path, f.State, console.Thousands(int(f.Size)), console.Thousands(f.Chunks), clock(f.Changed), cmp.Or(f.Problem, f.Foreign)}
				},
			}, client.Filter{})
		},
	}
}

// memoryStatusCommand makes hob memory status.
func memoryStatusCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what the index of the memory holds", Args: cli.None, Example: "  hob memory status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.ShowRow(cmd.Context(), a, api.ShowMemory, "", func(s api.MemoryStatus, _ json.RawMessage, clock cli.Clock) error {
				return a.Text(memoryStatus(s, clock))
			})
		},
	}
}

// memoryStatus describes the index in a few lines.
func memoryStatus(s api.MemoryStatus, clock cli.Clock) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s; the index has %s KB\n", console.Plural(s.Files, "memory file"), console.Plural(s.Passages, "passage"), console.Thousands(int(s.Bytes>>10)))
	if n := s.Chunks - s.Passages - s.Context; n > 0 {
		fmt.Fprintf(&b, "of conversations it has %s\n", console.Plural(n, "message"))
	}
	if s.Context > 0 {
		fmt.Fprintf(&b, "of context items it has %s\n", console.Plural(s.Context, "passage"))
	}
	switch {
	case s.Running:
		fmt.Fprintf(&b, "it is being brought up to date: %s left\n", console.Plural(s.Left, "changed file"))
	case s.Synced.IsZero():
		b.WriteString("it was not compared with the files since the start; the next search does that\n")
	default:
		fmt.Fprintf(&b, "last compared with the files %s: %s read, %d removed; hob memory list and the next search read later changes\n", clock(s.Synced), console.Plural(s.Read, "changed file"), s.Gone)
	}
	if s.Error != "" {
		fmt.Fprintf(&b, "that failed: %s\n", console.OneLine(strings.TrimSuffix(s.Error+"; "+s.Hint, "; ")))
	}
	if v := s.Vectors; v != nil {
		fmt.Fprintf(&b, "search by meaning: %s, %d to be made\n", console.Plural(v.Have, "vector"), v.Missing)
		if v.Fault != "" {
			fmt.Fprintf(&b, "that failed: %s\n", console.OneLine(v.Fault))
		}
	}
	for _, p := range s.Problems {
		fmt.Fprintf(&b, "not read: %s\n", console.OneLine(p))
	}
	for _, f := range s.Skipped {
		fmt.Fprintf(&b, "%s: %s\n", console.OneLine(f.Path), console.OneLine(cmp.Or(f.Problem, f.State)))
	}
	return b.String()
}

// memoryReindexCommand makes hob memory reindex.
func memoryReindexCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "reindex", Short: "Make the index of the memory anew from the files", Args: cli.None, Example: "  hob memory reindex",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Do(cmd.Context(), a, api.ReindexMemory, "", api.None{}, "the index is being made anew; see: hob memory status")
		},
	}
}

// toolField is the parameter of a tool that a flag stands for.
func toolField(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// memoryAddCommand makes hob memory add.
func memoryAddCommand(a *cli.App) *cobra.Command {
	var in struct {
		Content    string `json:"content"`
		About      string `json:"about,omitempty"`
		Path       string `json:"path,omitempty"`
		Supersedes string `json:"supersedes,omitempty"`
	}
	cmd := &cobra.Command{
		Use: "add TEXT", Short: "Remember a fact", Args: cli.AtLeast(1, "a TEXT"), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Add one dated bullet to MEMORY.md, or to another file of the memory. A fact that is there already is not written twice.",
		Example: "  hob memory add \"The plumber is Anna Weiss, 030-1234.\" --about Home\n  hob memory add \"The door code is 1234.\" --supersedes \"door code\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Content = cli.Joined(args)
			return callMemory(cmd.Context(), a, "memory_write", in)
		},
	}
	cmd.Flags().StringVar(&in.About, "about", "", "the heading to put it below")
	cmd.Flags().StringVar(&in.Path, "file", "", "the file of the memory (default MEMORY.md)")
	cmd.Flags().StringVar(&in.Supersedes, "supersedes", "", "text of the old fact in that file, which is crossed out")
	return cmd
}

// memoryForgetCommand makes hob memory forget.
func memoryForgetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "forget QUERY|PATH:LINE", Short: "Remove a fact from the memory files", Args: cli.AtLeast(1, "the words of a fact, or PATH:LINE"), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Remove one fact from the files of the memory. You are asked right here first. When several facts have the words, they are listed and nothing is removed.",
		Example: "  hob memory forget door code\n  hob memory forget MEMORY.md:12",
		RunE: func(cmd *cobra.Command, args []string) error {
			return callMemory(cmd.Context(), a, "memory_forget", map[string]string{"what": cli.Joined(args)})
		},
	}
}

// callMemory calls a tool of the memory and prints its answer.
func callMemory(ctx context.Context, a *cli.App, tool string, in any) error {
	out, err := askMemory(ctx, a, tool, in)
	if err != nil {
		return err
	}
	return printOutcome(a, out)
}

// askMemory calls a tool of the memory.
func askMemory(ctx context.Context, a *cli.App, tool string, in any) (api.Outcome, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return api.Outcome{}, err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return api.Outcome{}, fmt.Errorf("encode the call: %w", err)
	}
	return cli.CallTool(ctx, a, c, tool, client.ToolCall{Input: input})
}
