package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api/client"
)

// memoryCommand makes hob memory: what hob knows for longer than a conversation, in MEMORY.md and memory/*.md.
func memoryCommand(a *cli.App) *cobra.Command {
	return cli.Family("memory", "See and change what hob remembers", memoryAddCommand(a), memoryForgetCommand(a))
}

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
		Use: "forget QUERY|PATH:LINE", Short: "Remove a fact from the memory for good", Args: cli.AtLeast(1, "the words of a fact, or PATH:LINE"), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Remove one fact from the files of the memory. You are asked right here first. When several facts have the words, they are listed and nothing is removed.",
		Example: "  hob memory forget door code\n  hob memory forget MEMORY.md:12",
		RunE: func(cmd *cobra.Command, args []string) error {
			return callMemory(cmd.Context(), a, "memory_forget", map[string]string{"what": cli.Joined(args)})
		},
	}
}

// callMemory calls a tool of the memory and prints its answer.
func callMemory(ctx context.Context, a *cli.App, tool string, in any) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	out, err := cli.CallTool(ctx, a, c, tool, client.ToolCall{Input: input})
	if err != nil {
		return err
	}
	return printOutcome(a, out)
}
