package cli

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// patience is how long completion waits for the daemon before it offers nothing.
const patience = time.Second

// offered is how many rows of a resource are offered at most.
const offered = 50

// naming describes how the rows of a list are named on the command line. The rows come from the API, so
// completion offers what the daemon has at this moment.
type naming struct {
	rows  func(context.Context, *client.Client, client.Filter) ([]rowName, error)
	state string // offers only rows in this state; "" offers all
	last  bool   // rows have numbers, and "last" means the newest
	whole bool   // there are few, and they come without a limit
}

// rowName is the name of a row, and what completion says about it.
type rowName struct{ name, about string }

// named reads rows and names them.
func named[R any](l api.List[R], of func(R) rowName) func(context.Context, *client.Client, client.Filter) ([]rowName, error) {
	return func(ctx context.Context, c *client.Client, f client.Filter) ([]rowName, error) {
		rows, err := client.List(ctx, c, l, f)
		names := make([]rowName, len(rows))
		for i, row := range rows {
			names[i] = of(row)
		}
		return names, err
	}
}

// namings are those of all lists, by the names of their routes. A new list of the API that is named on the
// command line needs a line here.
func namings(resource string) naming {
	return map[string]naming{
		api.Jobs.Name():         {rows: named(api.Jobs, func(r api.Job) rowName { return rowName{r.Name, r.Prompt} })},
		api.Watches.Name():      {rows: named(api.Watches, func(r api.Watch) rowName { return rowName{r.Name, r.Prompt} })},
		api.Webhooks.Name():     {rows: named(api.Webhooks, func(r api.Webhook) rowName { return rowName{r.Name, r.Prompt} })},
		api.Tasks.Name():        {rows: named(api.Tasks, func(r api.Task) rowName { return rowName{ID(r.ID), r.Title} }), state: "open"},
		api.Sessions.Name():     {rows: named(api.Sessions, func(r api.Session) rowName { return rowName{r.Key, r.Title} }), state: "live"},
		api.Questions.Name():    {rows: named(api.Questions, func(r api.Question) rowName { return rowName{r.Code, text.ForPeople(r.Text)} }), state: "open"},
		api.Tools.Name():        {rows: named(api.Tools, func(r api.Tool) rowName { return rowName{r.Name, r.Description} }), whole: true},
		api.ContextItems.Name(): {rows: named(api.ContextItems, func(r api.ContextItem) rowName { return rowName{r.Name(), console.Plural(r.Bytes, "byte")} })},
		api.MCPServers.Name():   {rows: named(api.MCPServers, func(r api.MCPServer) rowName { return rowName{r.Name, r.Reach} }), whole: true},
		api.Skills.Name():       {rows: named(api.Skills, func(r api.Skill) rowName { return rowName{r.Name, r.Description} }), whole: true},
		api.Channels.Name():     {rows: named(api.Channels, func(r api.Channel) rowName { return rowName{r.Name, r.Kind} })},
		api.Pairings.Name():     {rows: named(api.Pairings, func(r api.Pairing) rowName { return rowName{ID(r.ID), r.Channel} })},
		api.Grants.Name():       {rows: named(api.Grants, func(r api.Grant) rowName { return rowName{ID(r.ID), r.Pattern} })},
		api.Marks.Name():        {rows: named(api.Marks, func(r api.Mark) rowName { return rowName{r.Path, r.Why} }), state: client.NamesOnly},
		api.Turns.Name():        {rows: named(api.Turns, func(r api.Turn) rowName { return rowName{ID(r.ID), r.Text} }), last: true},
		api.Outbox.Name():       {rows: named(api.Outbox, func(r api.OutboxRow) rowName { return rowName{ID(r.ID), r.Body} }), last: true},
		api.Inbox.Name():        {rows: named(api.Inbox, func(r api.InboxRow) rowName { return rowName{ID(r.Seq), r.Text} }), last: true},
	}[resource]
}

// Complete offers the names of rows for the first argument of a command. Without a daemon it offers nothing and prints nothing,
// because a shell reads its output.
func Complete[R any](a *App, l api.List[R]) cobra.CompletionFunc { return complete(a, l.Name()) }

// complete is Complete for a resource whose name is only known at run time, such as that of a verb.
func complete(a *App, resource string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.names(cmd.Context(), resource, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// Words offers words that are always the same.
func Words(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// Zones offers the names of time zones, where the system lists them.
func Zones(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	raw, err := os.ReadFile("/usr/share/zoneinfo/tzdata.zi")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // completion offers less
	}
	var names []string
	for line := range strings.Lines(string(raw)) {
		switch words := strings.Fields(line); { // zic(8): a zone, or a link from an older name
		case len(words) > 2 && words[0] == "Z":
			names = append(names, words[1])
		case len(words) > 2 && words[0] == "L":
			names = append(names, words[2])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Files lets the shell offer files with one of the endings.
func Files(endings ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

// CompleteFlag offers what a flag of a command takes.
func CompleteFlag(cmd *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err) // there is no such flag: a programmer's mistake
	}
}

// names asks the daemon for the names that begin with what was typed. Any failure, also a slow daemon, means
// that nothing is offered.
func (a *App) names(ctx context.Context, resource, typed string) []string {
	// cobra calls a completion without a context in some of its own tests.
	if ctx == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	// A note about the system-wide hob would appear in the line that is being typed.
	a.Quiet = true
	c, err := a.Client(ctx)
	if err != nil {
		return nil
	}
	n := namings(resource)
	f := client.Filter{Limit: offered, State: n.state}
	if n.whole {
		f.Limit = 0
	}
	rows, err := n.rows(ctx, c, f)
	if err != nil {
		return nil
	}
	var list []string
	if n.last && len(rows) > 0 {
		list = append(list, "last\tthe newest")
	}
	for _, row := range rows {
		list = append(list, cobra.CompletionWithDesc(row.name, console.CellText(row.about)))
	}
	return console.Beginning(list, typed)
}

// RowID returns the number of a row; "last" is the newest row.
// Only resources with numbers know "last". Any other name is returned unchanged.
func RowID(ctx context.Context, c *client.Client, resource, name string) (string, error) {
	n := namings(resource)
	if !n.last || name != "last" {
		return name, nil
	}
	// Lists of numbered rows have the newest one first.
	rows, err := n.rows(ctx, c, client.Filter{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", &Problem{Code: ExitFailed, Text: "there is no last one: hob " + resource + " list is empty"}
	}
	return rows[0].name, nil
}
