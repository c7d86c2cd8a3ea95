package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
	"hob/daemon/secret"
	"hob/scheduler/webhook"
)

// hookCommand makes hob hook. All of them are routes of the API, because the daemon creates the secrets and
// checks the names.
func hookCommand(a *cli.App) *cobra.Command {
	return cli.Family("hook", "Let other programs start chores: webhooks",
		hookAddCommand(a),
		hookListCommand(a),
		cli.Show(a, api.ShowWebhook, "HOOK", "Show a webhook; its secret is never shown", nil),
		hookTestCommand(a),
		hookRunsCommand(a),
		hookVerbCommand(a, api.PauseWebhook, "Let a webhook answer as if it were not there", "webhook %s is paused"),
		hookVerbCommand(a, api.ResumeWebhook, "Let a paused webhook receive again", "webhook %s receives again"),
		hookRotateCommand(a),
		hookRemoveCommand(a),
	)
}

// hookState says in one word whether requests are accepted, and if not, why.
func hookState(h webhook.View) string {
	switch {
	case h.Broken != "":
		return "broken"
	case h.Paused:
		return "paused"
	case h.Off != "":
		why, _, _ := strings.Cut(h.Off, " (") // hob hook show has all of it
		return "off: " + why
	case h.Rotating:
		return "receiving with two secrets"
	}
	return "receiving"
}

// hookListCommand makes hob hook list.
func hookListCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[webhook.View]{
		Route: api.Webhooks, Whole: true, Short: "List the webhooks with their addresses", None: "there are no webhooks yet; make one with: hob hook add",
		Head: []string{"HOOK", "KIND", "STATE", "URL", "DELIVER", "PROMPT"},
		Row: func(h webhook.View, _ cli.Clock) []string {
			return []string{h.Name, h.Kind, hookState(h) + event.PlainMark(h.Plain), h.URL, string(h.Deliver), console.OneLine(h.Prompt)}
		},
	})
}

// hookArgs are the flags that are given, by the names that the API has for them. What is wrong is said by the
// names of the flags. The table of fields says which flag belongs to which name, so a new field needs nothing
// here.
func hookArgs(a *cli.App, cmd *cobra.Command, d webhook.Draft) (in webhook.Texts, err error) {
	if err := cli.Filled(cmd); err != nil {
		return in, err
	}
	if d.Name == "" {
		return in, cli.Usage("for example --name deploys", "say what to call it: --name")
	}
	if err := cli.CheckWords(cmd, webhook.Fields()); err != nil {
		return in, err
	}
	// Secrets are checked before anything is read from standard input.
	if d.OldSecret != "" && !secret.IsReference(d.OldSecret) {
		return in, setup.LiteralSecret("--old-secret")
	}
	// first is the secret itself if it was piped in, else the reference.
	first, err := readHookSecret(a, d.Secret)
	if err != nil {
		return in, err
	}
	// The API takes texts and distinguishes "not given" from "given as empty". Only flags that are given are
	// sent.
	for _, f := range webhook.Fields() {
		if f.Flag != "" && f.Name != "name" && cmd.Flags().Changed(f.FlagName()) {
			*in.Field(f.Name) = cmd.Flags().Lookup(f.FlagName()).Value.String()
		}
	}
	if first != "" {
		in.Secret = first
	}
	return in, nil
}

// readHookSecret returns a reference unchanged, and reads standard input for "-". A literal secret is refused, because every user of the
// machine can read a command line.
func readHookSecret(a *cli.App, given string) (string, error) {
	switch {
	case given == "" || secret.IsReference(given):
		return given, nil
	case given != "-":
		return "", setup.LiteralSecret("--secret")
	}
	return cli.PipedSecret(a.In, "secret", "for example: printf %s \"$SECRET\" | hob hook add --secret - …")
}

// hookAddCommand makes hob hook add.
func hookAddCommand(a *cli.App) *cobra.Command {
	var d webhook.Draft
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a webhook; its secret is shown only once", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob hook add --name deploys \"Tell me what was deployed: {{.service}}.\"\n" +
			"  hob hook add --name issues --kind github --secret env:GITHUB_SECRET \"Sum up {{.issue.title}} by {{.sender.login}}.\"\n" +
			"  hob hook add --name door --kind none \"say: somebody is at the door\"",
		RunE: func(cmd *cobra.Command, prompt []string) error {
			in, err := hookArgs(a, cmd, d)
			if err != nil {
				return err
			}
			in.Prompt = cli.Joined(prompt)
			h, err := changeHook(cmd.Context(), a, api.AddWebhook, d.Name, in)
			if err != nil {
				return err
			}
			said := fmt.Sprintf("webhook %s (%s) receives at %s", h.Name, h.Kind, h.URL)
			if h.NeedsModel {
				said += "\n" + event.NeedsModel
			}
			return printMadeHook(a, h, said)
		},
	}
	cli.FieldFlags(cmd, &d, webhook.Fields())
	return cmd
}

// withNewSecret appends a generated secret and what to do with it. It is shown only this once.
func withNewSecret(h webhook.Made, said string) string {
	if h.Secret == "" {
		return said
	}
	return said + "\nsecret: " + h.Secret + "\ngive it to the sender now: it is not shown again"
}

// changeHook carries out a verb. Errors name the fields of the API, which hookFlagError replaces by flags.
func changeHook[In, Out any](ctx context.Context, a *cli.App, v api.Verb[In, Out], name string, in In) (out Out, err error) {
	if out, err = client.Do(ctx, a, v, name, in); err != nil {
		return out, hookFlagError(err)
	}
	return out, nil
}

// printMadeHook says what was done, and shows a secret that was just made. --json prints the secret as a member
// of the row.
func printMadeHook(a *cli.App, h webhook.Made, said string) error {
	if h.Secret != "" && a.Quiet && !a.JSON { // it is shown once: no flag may lose it
		a.Say("%s", h.Secret)
		return nil
	}
	return a.Done(h, withNewSecret(h, said))
}

// hookFlagError replaces the argument at the beginning of an error of the API by the flag.
func hookFlagError(err error) error {
	code, text, hint := cli.Explain(err)
	if code != cli.ExitUsage {
		return err
	}
	// In errors of this API a field is followed by a colon or by a space.
	return cli.Usage(hint, "%s", cli.InFlags(text, webhook.Fields(), nil, ": ", " "))
}

// hookVerbCommand makes pause and resume. Both first look whether there is anything to do, because a script may
// call them twice.
func hookVerbCommand(a *cli.App, v api.Verb[api.None, api.Webhook], short, done string) *cobra.Command {
	return &cobra.Command{
		Use: v.Name() + " HOOK", Short: short, Args: cli.Exactly(1, "one HOOK"), ValidArgsFunction: cli.Complete(a, api.Webhooks),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := client.Show(cmd.Context(), a, api.ShowWebhook, args[0])
			if err != nil {
				return err
			}
			// It is already in the state that the verb would bring it to.
			if h.Paused == (v == api.PauseWebhook) {
				return a.Done(h, fmt.Sprintf("nothing has changed: webhook %s %s", h.Name, map[bool]string{true: "was paused already", false: "was not paused"}[h.Paused]))
			}
			if h, err = changeHook(cmd.Context(), a, v, h.Name, api.None{}); err != nil {
				return err
			}
			return a.Done(h, fmt.Sprintf(done, h.Name))
		},
	}
}

// hookRotateCommand makes hob hook rotate. Two secrets are valid after the first call, so that a sender can be
// changed without losing a delivery; --done ends that.
func hookRotateCommand(a *cli.App) *cobra.Command {
	var given string
	var done bool
	cmd := &cobra.Command{
		Use: "rotate HOOK", Short: "Give a webhook a new secret; the old one stays valid until --done", Args: cli.Exactly(1, "one HOOK"),
		ValidArgsFunction: cli.Complete(a, api.Webhooks), Example: "  hob hook rotate deploys\n  hob hook rotate --done deploys",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Filled(cmd); err != nil {
				return err
			}
			if done && given != "" {
				return cli.Usage("", "--done and --secret exclude each other")
			}
			first, err := readHookSecret(a, given)
			if err != nil {
				return err
			}
			// %[1]s names the webhook a second time.
			in, said := api.WebhookRotation{}, "webhook %s has a new secret; the one before it stays valid until: hob hook rotate --done %[1]s"
			if first != "" {
				in.Secret = first
			}
			if done {
				in.Done, said = "true", "webhook %s takes its new secret only"
			}
			// A script may end a change twice, as it may pause twice.
			if done {
				h, err := client.Show(cmd.Context(), a, api.ShowWebhook, args[0])
				if err != nil {
					return err
				}
				if !h.Rotating {
					return a.Done(h, fmt.Sprintf("nothing has changed: webhook %s takes one secret only already; hob hook rotate %[1]s gives it a new one", h.Name))
				}
			}
			h, err := changeHook(cmd.Context(), a, api.RotateWebhook, args[0], in)
			if err != nil {
				return err
			}
			return printMadeHook(a, h, fmt.Sprintf(said, h.Name))
		},
	}
	cmd.Flags().StringVar(&given, "secret", "", "the new one: a reference, or - to read it from standard input (default: hob makes one)")
	cmd.Flags().BoolVar(&done, "done", false, "take the old secret no more")
	return cmd
}

// hookRemoveCommand asks first, because the secret of a webhook cannot be restored.
func hookRemoveCommand(a *cli.App) *cobra.Command {
	return cli.Remove(a, cli.Removal[api.Webhook]{
		Use: "rm HOOK", Short: "Delete a webhook and its secret; what it received stays on record", Example: "  hob hook rm deploys\n  hob hook rm --yes deploys", Args: cli.Exactly(1, "one HOOK"), Row: api.ShowWebhook,
		Loss: func(h api.Webhook) string {
			return fmt.Sprintf("this deletes the webhook %s (%s: %s) and its secret; what it received stays on record", h.Name, h.Kind, console.CellText(h.Prompt))
		},
		Remove: func(ctx context.Context, h api.Webhook) error {
			h, err := changeHook(ctx, a, api.RemoveWebhook, h.Name, api.None{})
			if err != nil {
				return err
			}
			return a.Done(h, fmt.Sprintf("webhook %s is deleted", h.Name))
		},
	})
}
