package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// Listing describes a command that lists rows. A list command is this description; the flags, the request, the
// table and the JSON document are the same for all of them.
type Listing[R any] struct {
	Route  api.List[R]
	Noun   string // what people call the rows; default: the name of the route
	Short  string
	None   string // printed if there are no rows
	Head   []string
	Row    func(R, Clock) []string
	States []string                                                   // accepted by --state; nil: no such flag
	Stored map[string]string                                          // the API's name of a state that people see by another one; --state takes both
	State  string                                                     // its default
	Keep   func(R) bool                                               // of the newest 1,000 rows only these are listed; may be nil
	Whole  bool                                                       // no default limit, because there are few rows
	Empty  func(context.Context, *client.Client, client.Filter) error // returns an error that explains an empty list; may be nil
}

// List makes "list".
func List[R any](a *App, l Listing[R]) *cobra.Command {
	f := client.Filter{}
	cmd := &cobra.Command{
		Use: "list", Short: l.Short, Args: None,
		RunE: func(cmd *cobra.Command, _ []string) error { return ListRows(cmd.Context(), a, l, f) },
	}
	l.Flags(cmd, &f)
	return cmd
}

// Flags adds --limit, --state where rows have one, and --all where only those in one state are shown by default.
func (l Listing[R]) Flags(cmd *cobra.Command, f *client.Filter) {
	f.State = l.State
	limit := "at most this many rows (default 50)"
	if l.Whole {
		limit = "at most this many rows (default all)"
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 0, limit)
	if len(l.States) == 0 {
		return
	}
	cmd.Flags().StringVar(&f.State, "state", l.State, "only rows in this state: "+strings.Join(l.States, ", "))
	CompleteFlag(cmd, "state", Words(l.States...))
	if l.State == "" {
		return
	}
	all := cmd.Flags().Bool("all", false, "rows in every state")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if *all && cmd.Flags().Changed("state") {
			return Usage("", "--all and --state exclude each other")
		}
		if *all {
			f.State = ""
		}
		return nil
	}
}

// check refuses a state that the rows do not have, because the API would answer with an empty list.
func (l Listing[R]) check(f client.Filter) error {
	if f.Limit < 0 {
		return Usage("", "--limit %d is less than nothing", f.Limit)
	}
	if f.State == "" || len(l.States) == 0 || slices.ContainsFunc(l.States, func(s string) bool { return s == f.State || l.Stored[s] == f.State }) {
		return nil
	}
	hint := "the states are: " + strings.Join(l.States, ", ")
	if n := console.Nearest(f.State, l.States); n != "" {
		hint = fmt.Sprintf("did you mean %q? %s", n, hint)
	}
	return Usage(hint, "there is no state %q among %s", f.State, cmp.Or(l.Noun, l.Route.Name()))
}

// empty says that there is nothing.
func (l Listing[R]) empty(f client.Filter) string {
	if f.State != l.State && f.State != "" {
		return "none in that state"
	}
	return l.None
}

// ListRows lists rows, as List does. The rows are requested as raw JSON: --json prints them byte by byte as the
// daemon wrote them, and the table decodes each of them into R.
func ListRows[R any](ctx context.Context, a *App, l Listing[R], f client.Filter) error {
	if err := l.check(f); err != nil {
		return err
	}
	f.State = cmp.Or(l.Stored[f.State], f.State)
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	// A Whole list is read completely and cut below.
	asked := f
	if l.Whole {
		asked.Limit = 0
	}
	if l.Keep != nil {
		asked.Limit, f.Limit = 1000, cmp.Or(f.Limit, 50)
	}
	docs, err := client.List(ctx, c, l.Route.Raw(), asked)
	if err != nil {
		return err
	}
	docs = slices.DeleteFunc(docs, func(doc json.RawMessage) bool {
		var row R
		return l.Keep != nil && (json.Unmarshal(doc, &row) != nil || !l.Keep(row))
	})
	if f.Limit > 0 { // what is not cut by the daemon
		docs = docs[:min(f.Limit, len(docs))]
	}
	// An empty list of runs may mean that the job does not exist.
	if len(docs) == 0 && l.Empty != nil {
		if err := l.Empty(ctx, c, f); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.Document(docs)
	}
	if len(docs) == 0 {
		a.Say("%s", l.empty(f))
		return nil
	}
	var cells [][]string
	clock := ListClock(ctx, c)
	for _, doc := range docs {
		var row R
		if err := json.Unmarshal(doc, &row); err != nil {
			return fmt.Errorf("the list of %s is not understood: %w", l.Route.Name(), err)
		}
		cells = append(cells, l.Row(row, clock))
	}
	return a.Table(l.Head, cells)
}

// Draw shows a row to a person. doc is the row as the daemon wrote it.
type Draw[R any] func(row R, doc json.RawMessage, clock Clock) error

// Show makes "show" with every detail of a row; draw nil draws them all.
func Show[R any](a *App, s api.Show[R], what, short string, draw Draw[R]) *cobra.Command {
	return &cobra.Command{
		Use: "show " + what, Short: short, Args: Named(s.Resource(), what), ValidArgsFunction: complete(a, s.Resource()),
		RunE: func(cmd *cobra.Command, args []string) error { return ShowRow(cmd.Context(), a, s, args[0], draw) },
	}
}

// ShowRow shows one row, as Show does. The way: "last" becomes a number, the row is read once, and then printed
// as JSON, by draw, or as all its members.
func ShowRow[R any](ctx context.Context, a *App, s api.Show[R], id string, draw Draw[R]) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if id, err = RowID(ctx, c, s.Resource(), id); err != nil {
		return err
	}
	row, doc, err := Row(ctx, c, s, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(doc)
	}
	clock := OwnersClock(ctx, c)
	// All members are shown in the order of the daemon's document.
	if draw == nil {
		// Some members serve the daemon alone: the key against a second delivery, the place in the queue, and how often a task was queued,
		// which is not how often it ran.
		sheet := console.Sheet{Clock: clock, Text: func(_, text string) string { return console.ToYou(text) }, Hide: []string{"ext_id", "rank", "attempt"}}
		return a.Text(sheet.Details(doc))
	}
	return draw(row, doc, clock)
}

// Row reads one row. doc is the row as the daemon wrote it, for --json.
func Row[R any](ctx context.Context, c *client.Client, s api.Show[R], id string) (row R, doc json.RawMessage, err error) {
	if doc, err = client.Show(ctx, c, s.Raw(), id); err != nil {
		return row, nil, err
	}
	if err = json.Unmarshal(doc, &row); err != nil {
		err = fmt.Errorf("the answer about %s is not understood: %w", s.Resource(), err)
	}
	return row, doc, err
}

// Do carries out a verb and says what was done.
// id is "" for a verb of hob as a whole, such as leaving safe mode. done is the sentence for a person.
func Do[In, Out any](ctx context.Context, a *App, v api.Verb[In, Out], id string, in In, done string) error {
	out, err := client.Do(ctx, a, v, id, in)
	if err != nil {
		return err
	}
	return a.Done(out, done)
}

// Done confirms a change. doc is what --json prints of it. With --quiet only the exit code says so.
func (a *App) Done(doc any, sentence string) error {
	if a.JSON {
		return a.Document(doc)
	}
	if !a.Quiet {
		a.Say("%s", sentence)
	}
	return nil
}

// Verb makes a command that does one thing to one row. done says so, with %s for the id.
func Verb[Out any](a *App, v api.Verb[api.None, Out], what, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: v.Name() + " " + what, Short: short, Args: Named(v.Resource(), what), ValidArgsFunction: complete(a, v.Resource()),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			id, err := RowID(cmd.Context(), c, v.Resource(), args[0])
			if err != nil {
				return err
			}
			return Do(cmd.Context(), a, v, id, api.None{}, fmt.Sprintf(done, id))
		},
	}
}

// Named accepts the name of one row. Some resources have numbers; for those that grow by themselves "last" is
// accepted too. The check saves a request, and gives a better error than the API could.
func Named(resource, what string) cobra.PositionalArgs {
	one := Exactly(1, "one "+what)
	kind := map[string]string{"turns": "a turn", "inbox": "an inbox row", "outbox": "a message", "grants": "a grant", "tasks": "a task"}[resource]
	return func(cmd *cobra.Command, args []string) error {
		if err := one(cmd, args); err != nil || kind == "" || args[0] == "last" && namings(resource).last {
			return err
		}
		if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
			return Usage("see: hob "+resource+" list", "%q is not the id of %s", args[0], kind)
		}
		return nil
	}
}

// ID writes the number of a row.
func ID(n int64) string { return strconv.FormatInt(n, 10) }
