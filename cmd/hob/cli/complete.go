package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/daemon/api/client"
	"hob/daemon/console"
)

// patience is how long completion waits for the daemon before it offers nothing.
const patience = time.Second

// offered is how many rows of a resource are offered at most.
const offered = 50

// naming describes which fields name and describe a row in completion.
type naming struct {
	key, about string
	state      string // offers only rows in this state; "" offers all
	last       bool   // rows have numbers, and "last" means the newest
	whole      bool   // there are few, and they come without a limit
}

// namings are those of all resources that can be listed.
func namings(resource string) naming {
	return map[string]naming{
		"jobs":      {key: "name", about: "prompt"},
		"watches":   {key: "name", about: "prompt"},
		"hooks":     {key: "name", about: "prompt"},
		"tasks":     {key: "id", about: "title", state: "open"},
		"sessions":  {key: "key", about: "title", state: "live"},
		"questions": {key: "code", about: "text", state: "open"},
		"tools":     {key: "name", about: "description", whole: true},
		"channels":  {key: "name", about: "kind"},
		"pairings":  {key: "id", about: "channel"},
		"grants":    {key: "id", about: "pattern"},
		"marks":     {key: "path", about: "why", state: client.NamesOnly},
		"turns":     {key: "id", about: "text", last: true},
		"outbox":    {key: "id", about: "body", last: true},
		"inbox":     {key: "seq", about: "text", last: true},
	}[resource]
}

// Complete offers the names of a resource's rows for the first argument of a command. Without a daemon it offers nothing and prints nothing,
// because a shell reads its output.
func Complete(a *App, resource string) cobra.CompletionFunc {
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

func (a *App) names(ctx context.Context, resource, typed string) []string {
	if ctx == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
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
	var rows []map[string]json.RawMessage
	if c.List(ctx, resource, f, &rows) != nil {
		return nil
	}
	var list []string
	if n.last && len(rows) > 0 {
		list = append(list, "last\tthe newest")
	}
	for _, row := range rows {
		list = append(list, cobra.CompletionWithDesc(scalar(row[n.key]), console.Cut(scalar(row[n.about]))))
	}
	return beginning(list, typed)
}

func beginning(list []string, typed string) []string {
	var fit []string
	for _, name := range list {
		if strings.HasPrefix(name, typed) {
			fit = append(fit, name)
		}
	}
	return fit
}

// scalar is a text or a number of a document as it is typed; "" when it is neither.
func scalar(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&v) != nil || v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// RowID returns the number of a row; "last" is the newest row.
func (a *App) RowID(ctx context.Context, c *client.Client, resource, name string) (string, error) {
	n := namings(resource)
	if !n.last || name != "last" {
		return name, nil
	}
	var rows []map[string]json.RawMessage
	if err := c.List(ctx, resource, client.Filter{Limit: 1}, &rows); err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", &Problem{Code: ExitFailed, Text: "there is no last one: hob " + resource + " list is empty"}
	}
	return scalar(rows[0][n.key]), nil
}
