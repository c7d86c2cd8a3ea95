package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// auditEffect lists exit code, duration and sizes of a call. A call that ran no process has no exit code.
func auditEffect(r api.AuditRow) string {
	var parts []string
	if r.Exit != nil {
		parts = append(parts, fmt.Sprintf("exit %d", *r.Exit))
	}
	parts = append(parts, console.Span(r.MS), console.Size(r.In)+" in", console.Size(r.Out)+" out")
	if r.Cwd != "" {
		parts = append(parts, "in "+r.Cwd)
	}
	if r.Tainted {
		parts = append(parts, "after foreign text")
	}
	return strings.Join(parts, ", ")
}

// auditReason is the reason of the permission decision, with its warnings. Warnings name patterns in the call that are often mistakes.
func auditReason(r api.AuditRow) string {
	if r.Warnings == "" {
		return r.Reason
	}
	return r.Reason + "; careful: " + r.Warnings
}

// auditDenied reports whether the permission rules or the owner refused the call. A call can be refused by the
// rules before it runs, or by the tool while it runs.
func auditDenied(r api.AuditRow) bool {
	return r.Decision == "deny" || r.Outcome == "PERMISSION_DENIED"
}

// auditFilter holds the flags.  The API filters by tool and by denied; a turn is chosen in fetch.
type auditFilter struct {
	turn, limit int64
	tool        string
	denied      bool
}

// auditCommand makes hob audit.
func auditCommand(a *cli.App) *cobra.Command {
	var f auditFilter
	cmd := &cobra.Command{
		Use: "audit", Short: "List every call of a tool, what was decided and how it ended", Args: cli.None,
		Example: "  hob audit --denied\n  hob audit --tool exec --limit 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("turn") && f.turn < 1 {
				return cli.Usage("see: hob turns list", "--turn %d is not the id of a turn", f.turn)
			}
			if cmd.Flags().Changed("limit") && (f.limit < 1 || f.limit > 1000) {
				return cli.Usage("", "--limit %d is not a number from 1 to 1000", f.limit)
			}
			return showAudit(cmd.Context(), a, f)
		},
	}
	cmd.Flags().Int64Var(&f.turn, "turn", 0, "only calls of this turn")
	cmd.Flags().StringVar(&f.tool, "tool", "", "only calls of this tool")
	cmd.Flags().BoolVar(&f.denied, "denied", false, "only calls that were not allowed")
	cmd.Flags().Int64Var(&f.limit, "limit", 50, "at most this many rows")
	cli.CompleteFlag(cmd, "tool", cli.Complete(a, api.Tools))
	return cmd
}

// showAudit reads audit rows and prints them as a table. With --json the rows are printed as the daemon wrote
// them, so that fields which this version does not know are kept.
func showAudit(ctx context.Context, a *cli.App, f auditFilter) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	docs, err := f.fetch(ctx, c)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(docs)
	}
	// --json has returned already; only a table needs the rows decoded.
	var rows []api.AuditRow
	for _, doc := range docs {
		var r api.AuditRow
		if err := json.Unmarshal(doc, &r); err != nil {
			return fmt.Errorf("the audit is not understood: %w", err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		if f.turn == 0 && f.tool == "" && !f.denied {
			a.Say("no tool has been called yet; try: hob chat \"run df -h\"")
			return nil
		}
		a.Say("no call fits; hob audit without flags shows them all")
		return nil
	}
	p, err := layoutFor(ctx, c, a.Out)
	if err != nil {
		return err
	}
	return a.Text(auditPage(rows, p))
}

// fetch reads the rows, newest first. The API has no filter by turn; a turn's rows come with its details.
func (f auditFilter) fetch(ctx context.Context, c *client.Client) ([]json.RawMessage, error) {
	if f.turn == 0 {
		filter := client.Filter{Limit: int(f.limit), Name: f.tool}
		if f.denied {
			filter.State = "denied"
		}
		return client.List(ctx, c, api.Audit.Raw(), filter)
	}
	// Of the turn's details only the audit rows are decoded.
	type calls struct {
		Audit []json.RawMessage `json:"audit"`
	}
	turn, err := client.Show(ctx, c, api.Show[calls](api.ShowTurn), cli.ID(f.turn))
	if err != nil {
		return nil, err
	}
	// An empty list must be [] in JSON, never null.
	docs := []json.RawMessage{}
	// A turn lists its calls in the order in which they ran; the list shows the newest first.
	slices.Reverse(turn.Audit)
	for _, doc := range turn.Audit {
		var r api.AuditRow
		if err := json.Unmarshal(doc, &r); err != nil {
			return nil, fmt.Errorf("the audit is not understood: %w", err)
		}
		// The same filters as those of the API, for the rows of one turn.
		if (f.tool == "" || r.Tool == f.tool) && (!f.denied || auditDenied(r)) && int64(len(docs)) < f.limit {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// effectMinWidth is the narrowest terminal, in cells, on which the table has its last column.
const effectMinWidth = 120

// auditPage draws the table. On a narrow terminal it leaves out the last column, because the call itself needs
// the space.
func auditPage(rows []api.AuditRow, p layout) string {
	head := []string{"SEQ", "AT", "TURN", "TOOL", "DECISION", "OUTCOME", "CALL", "EFFECT"}
	if p.width > 0 && p.width < effectMinWidth {
		head = head[:len(head)-1]
	}
	var cells [][]string
	for _, r := range rows {
		// A call from the command line or over the API belongs to no turn.
		turn := "-"
		if r.Turn != 0 {
			turn = cli.ID(r.Turn)
		}
		row := []string{
			cli.ID(r.Seq), text.When(r.At.In(p.zone), p.now, false), turn, r.Tool, r.Decision, console.OrDash(r.Outcome), r.Summary + " (" + console.ToYou(auditReason(r)) + ")", auditEffect(r),
		}
		// Where the last heading was left out, its cell is left out too.
		cells = append(cells, row[:len(head)])
	}
	return console.Table(head, cells, p.width)
}
