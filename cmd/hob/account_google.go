package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// googleFields are what the account google needs.
func googleFields() []accountField {
	return []accountField{
		{"client-id", "client id of your OAuth client at Google (docs/google.md)", "of google: the `id` of your OAuth client", false, false},
		{"client-secret", "its client secret", "of google: a `reference` to the secret of your OAuth client, or - for standard input", true, false},
		{"mail", "", "of google: `none`, read, or send (which includes read); default: what it was, else read", false, true},
		{"calendar", "", "of google: `none`, read, or write (which includes read); default: what it was, else read", false, true},
	}
}

// googleClient reads the file that Google's console offers for an OAuth client.
func googleClient(path string) (map[string]string, error) {
	type oauthClient struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	var file struct {
		Installed *oauthClient `json:"installed"`
		Web       *oauthClient `json:"web"`
	}
	raw, err := os.ReadFile(path) // #nosec G304 -- the file that the owner names
	switch {
	case err != nil:
		return nil, &cli.Problem{Code: cli.ExitUsage, Text: "--client-file: " + err.Error(), Hint: "download it at https://console.cloud.google.com/auth/clients"}
	case json.Unmarshal(raw, &file) == nil && file.Web != nil:
		return nil, cli.Usage("make one of the type Desktop app at https://console.cloud.google.com/auth/clients", "the file is of an OAuth client of the type Web application, which cannot sign in from this machine")
	case file.Installed == nil || file.Installed.ID == "" || file.Installed.Secret == "":
		return nil, cli.Usage("download it at https://console.cloud.google.com/auth/clients", "the file %s has no OAuth client of Google", path)
	}
	return map[string]string{"client-id": file.Installed.ID, "client-secret": file.Installed.Secret}, nil
}

// accountLogin signs in in a browser, on this machine or another one.
func accountLogin(ctx context.Context, a *cli.App, c *client.Client, name string) (api.LinkedAccount, error) {
	s, err := client.Do(ctx, c, api.BeginAccountLogin, name, api.None{})
	if err != nil {
		return api.LinkedAccount{}, err
	}
	return login[api.LinkedAccount]{
		await: func(ctx context.Context) (api.LinkedAccount, error) {
			return client.Do(ctx, c, api.AwaitAccountLogin, name, api.None{})
		},
		finish: func(ctx context.Context, in api.SignInAddress) (api.LinkedAccount, error) {
			return client.Do(ctx, c, api.FinishAccountLogin, name, in)
		},
		cancel: func(ctx context.Context) (api.Done, error) {
			return client.Do(ctx, c, api.CancelAccountLogin, name, api.None{})
		},
	}.run(ctx, a, s)
}

// accountLoginCommand makes hob account login.
func accountLoginCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "login ACCOUNT", Short: "Sign in again, in a browser", Args: cli.Exactly(1, "one ACCOUNT"), ValidArgsFunction: cli.Complete(a, api.LinkedAccounts),
		Long: "Sign in to an account again, after its service has ended the access or before it does. Open the address that is printed in a browser. Where the browser\n" +
			"runs on this machine, that is all; else copy the address that it ends up at, and paste it here or in your private chat with hob.",
		Example: "  hob account login google",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			r, err := accountLogin(cmd.Context(), a, c, args[0])
			if err != nil {
				return err
			}
			return a.Done(r, accountText(r, "is signed in"))
		},
	}
}

// removeAccount removes an account, and says what is left of it at the service: what the service was told, else what is left of each account of the kind.
func removeAccount(ctx context.Context, a *cli.App, c *client.Client, name, left string) error {
	gone, err := client.Do(ctx, c, api.RemoveAccount, name, api.None{})
	if err != nil {
		return err
	}
	if gone.Problem != "" {
		left = "; " + console.OneLine(gone.Problem)
	}
	return a.Done(gone, "account "+name+" is removed"+left)
}
