package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/console"
)

// until is when a question expires; some never do, which the API marks with the year 9999.
func until(q api.Question, clock cli.Clock) string {
	if q.Until.Year() >= 9999 {
		return "answered"
	}
	return clock(q.Until)
}

// approvalsCommand makes hob approvals. A question is a row that the daemon writes when a call needs permission
// or when the model asks something. Any channel can answer it; this family of commands is the command line's
// way. The daemon then wakes the turn that waits for the answer.
func approvalsCommand(a *cli.App) *cobra.Command {
	return cli.Family("approvals", "Answer what hob asks you",
		cli.List(a, cli.Listing[api.Question]{
			Route: api.Questions, Short: "List the questions that wait for you", None: "nothing is waiting for you",
			// A question is "consumed" when a call has used its approval. An approval serves one call only.
			States: []string{"open", "answered", "expired", "withdrawn", "consumed"}, State: "open",
			// Programs at the endpoint and of MCP are told the id only, because the code is yours alone.
			Head: []string{"CODE", "ID", "STATE", "ASKED", "UNTIL", "QUESTION"},
			Row: func(q api.Question, clock cli.Clock) []string {
				question, _, _ := strings.Cut(q.Text, "\n") // hob approvals show has the rest
				return []string{q.Code, cli.ID(q.ID), q.State, clock(q.Asked), until(q, clock), question}
			},
		}),
		cli.Show(a, api.ShowQuestion, "CODE", "Show a question, and how to answer it", func(q api.Question, _ json.RawMessage, clock cli.Clock) error { return drawQuestion(a, q, clock) }),
		approveCommand(a),
		cli.Verb(a, api.DenyQuestion, "CODE", "Say no", "%s is denied"),
		&cobra.Command{
			Use: "answer CODE TEXT", Short: "Answer a question in words", Args: cli.AtLeast(2, "a CODE and a TEXT"), ValidArgsFunction: cli.Complete(a, api.Questions),
			Example: `  hob approvals answer 7K2M "by eight, please"`,
			RunE: func(cmd *cobra.Command, args []string) error {
				return cli.Do(cmd.Context(), a, api.AnswerQuestion, args[0], api.Answer{Text: cli.Joined(args[1:])}, args[0]+" is answered")
			},
		},
	)
}

// drawQuestion prints a question as a conversation would show it, and how and until when it can be answered.
func drawQuestion(a *cli.App, q api.Question, clock cli.Clock) error {
	// The conversation in the terminal draws questions with the same type, so both look alike.
	asked := console.Question{Code: q.Code, Subject: q.Subject, Text: q.Text, Options: q.Options, Turn: q.Turn, Pattern: q.Pattern}
	text := console.Clean(asked.Plain()) + "\n"
	if q.State == "open" {
		text += asked.How() + "\nuntil " + until(q, clock) + "\n"
	} else {
		text += "it is " + q.State + "\n"
	}
	return a.Text(text)
}

// approveCommand makes hob approvals approve. The scope decides how long the permission lasts: it answers one
// call, all such calls of the turn, or it becomes a grant.
func approveCommand(a *cli.App) *cobra.Command {
	var turn, always bool
	cmd := &cobra.Command{
		Use: "approve CODE", Short: "Say yes: this once, for the turn, or always", Args: cli.Exactly(1, "one CODE"), ValidArgsFunction: cli.Complete(a, api.Questions),
		Example: "  hob approvals approve 7K2M\n  hob approvals approve --always 7K2M",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, said := api.Scope("once"), "this once"
			switch {
			case turn && always:
				return cli.Usage("", "--turn and --always exclude each other")
			case turn:
				scope, said = "turn", "for this turn"
			case always:
				scope, said = "always", "from now on (see: hob grants list)"
			}
			return cli.Do(cmd.Context(), a, api.ApproveQuestion, args[0], api.Approve{Scope: scope}, args[0]+" is approved "+said)
		},
	}
	cmd.Flags().BoolVar(&turn, "turn", false, "this kind of call for the rest of the turn")
	cmd.Flags().BoolVar(&always, "always", false, "this kind of call from now on")
	return cmd
}

// grantsCommand makes hob grants. A grant is a permission that was given with "always". It stays until it is
// revoked here.
func grantsCommand(a *cli.App) *cobra.Command {
	return cli.Family("grants", "See what you have allowed for good, and take it back",
		cli.List(a, cli.Listing[api.Grant]{
			Route: api.Grants, Short: "List what is allowed for good", None: "nothing is allowed beyond the rules",
			Head: []string{"GRANT", "TOOL", "CREATED", "USES", "PATTERN"},
			Row: func(g api.Grant, clock cli.Clock) []string {
				return []string{cli.ID(g.ID), g.Tool, clock(g.Created), console.Thousands(g.Uses), g.Pattern}
			},
		}),
		cli.Verb(a, api.RevokeGrant, "GRANT", "Take a permission back", "grant %s is revoked"),
	)
}
