package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/secret"
)

// accountCommand makes hob account: the owner's accounts at services. The daemon stores their credentials.
func accountCommand(a *cli.App) *cobra.Command {
	return cli.Family("account", "Let hob use your calendars and other accounts",
		accountAddCommand(a),
		cli.List(a, cli.Listing[api.LinkedAccount]{
			Route: api.LinkedAccounts, Whole: true, Noun: "accounts", Short: "List the accounts that hob can use", None: "there are no accounts yet; add one with: hob account add caldav",
			Head: []string{"ACCOUNT", "USER", "SERVER", "HAS", "PROBLEM"},
			Row: func(r api.LinkedAccount, _ cli.Clock) []string {
				return []string{r.Name, console.OrDash(console.OneLine(r.User)), console.OrDash(r.URL), console.OrDash(console.OneLine(strings.Join(r.Has, ", "))), console.OrDash(console.OneLine(r.Problem))}
			},
		}),
		accountTestCommand(a),
		accountRemoveCommand(a),
	)
}

// accountField is a value that an account needs.
type accountField struct {
	name, ask, flag string
	secret          bool
}

// accountKinds are the kinds, with their fields.
func accountKinds() map[string][]accountField {
	return map[string][]accountField{
		"caldav": {
			{"url", "address of the CalDAV server, or your mail address", "the `address` of the server, a domain, or a mail address to find the server with", false},
			{"user", "user name", "your user `name` there, often a mail address", false},
			{"password", "password, or app password", "a `reference` to the password (env:NAME, file:PATH, keyring:NAME, cmd:COMMAND), or - for standard input", true},
		},
	}
}

// accountAddCommand makes hob account add.
func accountAddCommand(a *cli.App) *cobra.Command {
	values := map[string]*string{}
	cmd := &cobra.Command{
		Use: "add KIND", Short: "Set an account up, and sign in", Args: cli.Exactly(1, "one KIND: caldav"), ValidArgsFunction: cli.Words("caldav"),
		Long: "Sign in to a service, and let hob use the account: caldav gives it your calendars. What is missing is asked for.\n\n" +
			"The password is tried at once and stored in the keyring, or in a file that only you can read; the config never holds it. Many services want an app password\n" +
			"in place of your own. Adding an account again replaces it.",
		Example: "  hob account add caldav\n  hob account add caldav --url dav.example.org --user anna --password -",
	}
	for _, f := range accountKinds()["caldav"] {
		values[f.name] = cmd.Flags().String(f.name, "", f.flag)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, ok := accountKinds()[args[0]]
		if !ok {
			return cli.Usage("there is: caldav", "there is no kind of account %q", args[0])
		}
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		in := api.AccountValues{Values: map[string]string{}}
		for _, f := range fields {
			if in.Values[f.name], err = accountValue(cmd.Context(), a, f, *values[f.name]); err != nil {
				return err
			}
		}
		made, err := client.Do(cmd.Context(), c, api.AddAccount, args[0], in)
		if err != nil {
			return err
		}
		// hob makes its set of tools anew; the next command may need it.
		setup.Loaded(cmd.Context(), func(ctx context.Context) *api.ToolSpec {
			spec, err := client.Show(ctx, c, api.ShowTool, "calendar_list_events")
			if err != nil {
				return nil
			}
			return &spec
		})
		return a.Done(made, accountText(made, "is set up"))
	}
	return cmd
}

// accountText shows an account that works.
func accountText(r api.LinkedAccount, state string) string {
	where := r.Where
	if where != secret.InKeyring {
		where = "the file " + where
	} else {
		where = "the keyring"
	}
	return console.Clean(fmt.Sprintf("the account %s %s: %s at %s\nit has: %s\n%s; the password is in %s", r.Name, state, r.User, r.URL, strings.Join(r.Has, ", "), r.Detail, where))
}

// maxPassword is the most that is read of a password, in bytes.
const maxPassword = 4 << 10

// accountValue returns a value of the command line, or asks for it.
func accountValue(ctx context.Context, a *cli.App, f accountField, given string) (string, error) {
	switch {
	case given == "-" && f.secret:
		raw, err := io.ReadAll(io.LimitReader(a.In, maxPassword))
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		if given = strings.TrimSpace(string(raw)); given == "" {
			return "", cli.Usage("for example: pass show dav | hob account add caldav … --password -", "there is no password on standard input")
		}
		return given, nil
	case given != "" && f.secret && !secret.IsReference(given):
		return "", cli.Usage("others can read a command line; name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or use - for standard input", "--%s takes a reference, not the secret itself", f.name)
	case given != "" && f.secret:
		home, _, err := a.HomeDir()
		if err != nil {
			return "", err
		}
		value, err := secret.Resolver{Home: home, Warn: func(text string) { a.Note(text) }}.Resolve(ctx, "account."+f.name, given)
		if err != nil {
			return "", &cli.Problem{Code: cli.ExitUsage, Text: "--" + f.name + ": " + err.Error(), Hint: "leave it out to be asked for it"}
		}
		return value, nil
	case given != "":
		return given, nil
	case a.JSON || !cli.IsTerminal(a.In) || !cli.IsTerminal(a.Err):
		return "", cli.Usage("give it as --"+f.name, "the account needs %s, and nobody is here to be asked", f.name)
	}
	return askAccount(ctx, a, f)
}

// askAccount asks at the terminal; a secret is not echoed.
func askAccount(ctx context.Context, a *cli.App, f accountField) (string, error) {
	if err := a.RestoreTerminal(); err != nil {
		return "", err
	}
	var line string
	var err error
	if f.secret {
		line, err = setup.Hidden(ctx, a, f.ask+" (it is not shown): ")
	} else {
		line, err = console.NewPrompter(a.In, a.Err, slog.New(slog.DiscardHandler)).Ask(ctx, f.ask+": ")
	}
	if line = strings.TrimSpace(line); err != nil || line == "" {
		a.Print(a.Err, "") // end the line of the prompt
		return "", &cli.Problem{Code: cli.ExitFailed, Text: "nothing was changed"}
	}
	return line, nil
}

// accountTestCommand makes hob account test.
func accountTestCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "test ACCOUNT", Short: "Sign in again, and read anew what the account has", Args: cli.Exactly(1, "one ACCOUNT"), ValidArgsFunction: cli.Complete(a, api.LinkedAccounts),
		Long:    "Sign in with the stored credentials, and read the list of calendars again, for example after you have made a new one. The exit code is not 0 if that fails.",
		Example: "  hob account test caldav",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			r, err := client.Do(cmd.Context(), c, api.TestAccount, args[0], api.None{})
			if err != nil {
				return err
			}
			return a.Done(r, accountText(r, "works"))
		},
	}
}

// accountRemoveCommand makes hob account rm. It does not read the account first: one that cannot be read must be removable.
func accountRemoveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm ACCOUNT", Short: "Forget an account and its password", Args: cli.Exactly(1, "one ACCOUNT"), ValidArgsFunction: cli.Complete(a, api.LinkedAccounts),
		Example: "  hob account rm caldav\n  hob account rm --yes caldav",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, ok := accountKinds()[args[0]]; !ok {
			return cli.Usage("see: hob account list", "there is no account %q", args[0])
		}
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		list, err := client.List(cmd.Context(), c, api.LinkedAccounts, client.Filter{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(r api.LinkedAccount) bool { return r.Name == args[0] }) {
			return &cli.Problem{Code: cli.ExitFailed, Text: "there is no account " + args[0], Hint: "see: hob account list"}
		}
		if err := a.Confirm(cmd.Context(), *yes, "hob then forgets the account "+args[0]+" and its password; nothing changes at the service", "remove it?"); err != nil {
			return err
		}
		return cli.Do(cmd.Context(), a, api.RemoveAccount, args[0], api.None{}, "account "+args[0]+" is removed; an app password that you made for hob is still good until you delete it at the service")
	}
	return cmd
}
