package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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
			Route: api.LinkedAccounts, Whole: true, Noun: "accounts", Short: "List the accounts that hob can use", None: "there are no accounts yet; add one with: hob account add KIND\nthe kinds are " + strings.Join(accountKindNames(), ", "),
			Head: []string{"ACCOUNT", "USER", "SERVER", "HAS", "PROBLEM"},
			Row: func(r api.LinkedAccount, _ cli.Clock) []string {
				return []string{r.Name, console.OrDash(console.OneLine(r.User)), console.OrDash(r.URL), console.OrDash(console.OneLine(strings.Join(r.Has, ", "))), console.OrDash(console.OneLine(r.Problem))}
			},
		}),
		accountTestCommand(a),
		accountLoginCommand(a),
		accountRemoveCommand(a),
	)
}

// accountField is a value that an account needs.
type accountField struct {
	name, ask, flag  string
	secret, optional bool
}

// accountKind is a kind of account as the commands see it.
type accountKind struct {
	fields  []accountField
	tool    string // one that it brings
	without string // what a removal leaves behind
}

// accountKinds are the kinds.
func accountKinds() map[string]accountKind {
	// A flag that two kinds have is declared once.
	link := accountField{"url", "address of the CalDAV server, or your mail address", "the `address` of the server; for caldav a domain or a mail address will do", false, false}
	other := link
	other.optional = true
	return map[string]accountKind{
		"caldav": {[]accountField{
			link,
			{"user", "user name", "your user `name` there, often a mail address", false, false},
			{"password", "password, or app password", "a `reference` to the password (env:NAME, file:PATH, keyring:NAME, cmd:COMMAND), or - for standard input", true, false},
		}, "calendar_list_events", "; an app password that you made for hob is still good until you delete it at the service"},
		"anthropic_usage": {[]accountField{
			{"key", "admin key (sk-ant-admin…)", "a `reference` to the key, or - for standard input", true, false},
			other,
		}, "anthropic_usage", "; the key is still good until you delete it in the Claude Console"},
		"linkedin": {[]accountField{other}, "linkedin_jobs", ""},
		"google":   {googleFields(), "calendar_list_events", ""},
	}
}

func accountKindNames() []string { return slices.Sorted(maps.Keys(accountKinds())) }

// accountAddCommand makes hob account add.
func accountAddCommand(a *cli.App) *cobra.Command {
	values := map[string]*string{}
	kinds := accountKindNames()
	cmd := &cobra.Command{
		Use: "add KIND", Short: "Set an account up, and sign in", Args: cli.Exactly(1, "one KIND: "+strings.Join(kinds, ", ")), ValidArgsFunction: cli.Words(kinds...),
		Long: "Sign in to a service, and let hob use the account. What is missing is asked for.\n\n" +
			"caldav gives hob your calendars: --url, --user, --password.\n" +
			"anthropic_usage gives it the reports of your organization at Anthropic: --key.\n" +
			"linkedin switches on the tools for public job offers; it needs nothing.\n" +
			"google gives it your mail and calendars, as far as you allow with --mail and --calendar. It needs an OAuth client of your own, which docs/google.md shows\n" +
			"how to make in ten minutes, then a sign-in in a browser.\n\n" +
			"A password or key is tried at once and stored in the keyring, or in a file that only you can read; the config never holds it. Many services want an app password\n" +
			"in place of your own. Adding an account again replaces it; of google, what you do not give stays as it was.",
		Example: "  hob account add caldav\n  hob account add caldav --url dav.example.org --user anna --password -\n  hob account add anthropic_usage --key file:~/admin-key\n" +
			"  hob account add google --client-file client_secret.json --mail send",
	}
	for _, k := range kinds {
		for _, f := range accountKinds()[k].fields {
			if values[f.name] == nil {
				values[f.name] = cmd.Flags().String(f.name, "", f.flag)
			}
		}
	}
	file := cmd.Flags().String("client-file", "", "of google: the `file` with the OAuth client that Google's console offers to download")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, ok := accountKinds()[args[0]]
		if !ok {
			return cli.Usage("there are: "+strings.Join(kinds, ", "), "there is no kind of account %q", args[0])
		}
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		in := api.AccountValues{Values: map[string]string{}}
		for name := range values {
			if cmd.Flags().Changed(name) && !slices.ContainsFunc(kind.fields, func(f accountField) bool { return f.name == name }) {
				return cli.Usage("leave it out", "the account %s has no --%s", args[0], name)
			}
		}
		if *file != "" {
			if args[0] != "google" {
				return cli.Usage("leave it out", "the account %s has no --client-file", args[0])
			}
			if in.Values, err = googleClient(*file); err != nil {
				return err
			}
		}
		old, err := keepsValues(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		for _, f := range kind.fields {
			if in.Values[f.name] != "" || (f.optional || old) && *values[f.name] == "" {
				continue
			}
			if in.Values[f.name], err = accountValue(cmd.Context(), a, f, *values[f.name]); err != nil {
				return err
			}
		}
		made, err := client.Do(cmd.Context(), c, api.AddAccount, args[0], in)
		if err != nil {
			return err
		}
		if made.SignIn {
			if made, err = accountLogin(cmd.Context(), a, c, made.Name); err != nil {
				return err
			}
		}
		// hob makes its set of tools anew; the next command may need it.
		setup.Loaded(cmd.Context(), func(ctx context.Context) *api.ToolSpec {
			spec, err := client.Show(ctx, c, api.ShowTool, kind.tool)
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
	where := "the keyring"
	if r.Where != secret.InKeyring {
		where = "the file " + r.Where
	}
	who := r.URL
	if r.User != "" {
		who = r.User + " at " + who
	}
	text := fmt.Sprintf("the account %s %s: %s\nit has: %s\n%s", r.Name, state, who, strings.Join(r.Has, ", "), r.Detail)
	if r.Name == "google" {
		return console.Clean(text + "; the sign-in is in " + where)
	}
	for _, f := range accountKinds()[r.Name].fields {
		if f.secret {
			text += "; the " + f.name + " is in " + where
		}
	}
	return console.Clean(text)
}

// accountValue returns a value of the command line, or asks for it.
func accountValue(ctx context.Context, a *cli.App, f accountField, given string) (string, error) {
	switch {
	case given == "-" && f.secret:
		return cli.PipedSecret(a.In, f.name, "for example: pass show dav | hob account add caldav … --password -")
	case given != "" && f.secret && !secret.IsReference(given):
		return "", setup.LiteralSecret("--" + f.name)
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
		Long:    "Sign in with the stored credentials, and read anew what the account has: calendars that you have made, reports that the key may read. The exit code is not 0 if that fails.",
		Example: "  hob account test caldav",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := client.Do(cmd.Context(), a, api.TestAccount, args[0], api.None{})
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
		Use: "rm ACCOUNT", Short: "Forget an account and its password or key", Args: cli.Exactly(1, "one ACCOUNT"), ValidArgsFunction: cli.Complete(a, api.LinkedAccounts),
		Example: "  hob account rm caldav\n  hob account rm --yes caldav",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, ok := accountKinds()[args[0]]
		if !ok {
			return cli.Usage("see: hob account list", "there is no account %q", args[0])
		}
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		there, err := hasAccount(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		if !there {
			return &cli.Problem{Code: cli.ExitFailed, Text: "there is no account " + args[0], Hint: "see: hob account list"}
		}
		if err := a.Confirm(cmd.Context(), *yes, "hob then forgets the account "+args[0]+" with what it needs to sign in", "remove it?"); err != nil {
			return err
		}
		return removeAccount(cmd.Context(), a, c, args[0], kind.without)
	}
	return cmd
}

// keepsValues reports whether an account keeps what is not given: one at Google that is set up.
func keepsValues(ctx context.Context, c *client.Client, name string) (bool, error) {
	if name != "google" {
		return false, nil
	}
	return hasAccount(ctx, c, name)
}

// hasAccount reports whether an account is set up.
func hasAccount(ctx context.Context, c *client.Client, name string) (bool, error) {
	list, err := client.List(ctx, c, api.LinkedAccounts, client.Filter{})
	return slices.ContainsFunc(list, func(r api.LinkedAccount) bool { return r.Name == name }), err
}
