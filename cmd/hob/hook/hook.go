// Package hook is the commands about webhooks: hob hook.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
	"hob/daemon/secret"
	"hob/scheduler/hook"
)

// Command makes hob hook.
func Command(a *cli.App) *cobra.Command {
	return cli.Family("hook", "Let other programs start chores: webhooks",
		addCommand(a),
		listCommand(a),
		cli.Show(a, "hooks", "HOOK", "Show a webhook; its secret is never shown", nil),
		testCommand(a),
		runsCommand(a),
		verbCommand(a, "pause", "Let a webhook answer as if it were not there", "webhook %s is paused"),
		verbCommand(a, "resume", "Let a paused webhook receive again", "webhook %s receives again"),
		rotateCommand(a),
		removeCommand(a),
	)
}

type hookRow struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	URL     string `json:"url"`
	Prompt  string `json:"prompt"`
	Deliver string `json:"deliver"`
	Paused  bool   `json:"paused"`
	Broken  string `json:"broken"`
	Off     string `json:"off"`    // why nobody is let in
	Secret  string `json:"secret"` // only of one that was just made
}

func (h hookRow) state() string {
	switch {
	case h.Broken != "":
		return "broken"
	case h.Paused:
		return "paused"
	case h.Off != "":
		why, _, _ := strings.Cut(h.Off, " (") // hob hook show has all of it
		return "off: " + why
	}
	return "receiving"
}

func listCommand(a *cli.App) *cobra.Command {
	return cli.List(a, cli.Listing[hookRow]{
		Resource: "hooks", Whole: true, Short: "List the webhooks with their addresses", None: "there are no webhooks yet; make one with: hob hook add",
		Head: []string{"HOOK", "KIND", "STATE", "URL", "DELIVER", "PROMPT"},
		Row: func(h hookRow, _ cli.Clock) []string {
			return []string{h.Name, h.Kind, h.state(), h.URL, h.Deliver, console.OneLine(h.Prompt)}
		},
	})
}

// wishes is what can be said about a webhook beside its prompt.
type wishes struct {
	name, kind, secret, oldSecret, deliver, allow, header string
	perMinute                                             int
	maxBody                                               int64
	tolerance, once                                       time.Duration
}

func (w *wishes) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.name, "name", "", "what to call it: the end of its address")
	f.StringVar(&w.kind, "kind", "", "how its senders sign: "+strings.Join(hook.Kinds(), ", ")+" (default standard)")
	f.StringVar(&w.secret, "secret", "", "what they sign with: env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or - to read it from standard input (default: hob makes one)")
	f.StringVar(&w.oldSecret, "old-secret", "", "the secret before it, by reference, which is taken too")
	f.StringVar(&w.deliver, "deliver", "", "where the answer goes: owner, none or an address (default owner)")
	f.StringVar(&w.allow, "allow", "", "rights that its runs have without asking: net, net:HOST, read:PATH, message:ADDRESS, with commas between them")
	f.StringVar(&w.header, "header", "", "of kind sha256: the header with the signature (default X-Signature-256, X-Hub-Signature-256)")
	f.IntVar(&w.perMinute, "per-minute", 0, "how many requests it takes in a minute (default 60, unsigned 10)")
	f.Int64Var(&w.maxBody, "max-body", 0, "how many bytes a request may have, up to 10 MiB (default 1 MiB)")
	f.DurationVar(&w.tolerance, "tolerance", 0, "how far a sender's clock may be off (default 5m)")
	f.DurationVar(&w.once, "once", 0, "of kinds github and sha256: for this long, two deliveries with the same body count as one, even if their ids differ; 0s: only the id counts (default 720h)")
	cli.CompleteFlag(cmd, "kind", cli.Words(hook.Kinds()...))
	cli.CompleteFlag(cmd, "deliver", cli.Words("owner", "none"))
}

// args are the wishes by the names that the API has for them. What is wrong is told by the names of the flags.
func (w wishes) args(a *cli.App, cmd *cobra.Command) (map[string]string, error) {
	if err := cli.Filled(cmd); err != nil {
		return nil, err
	}
	if w.name == "" {
		return nil, cli.Usage("for example --name deploys", "say what to call it: --name")
	}
	if w.kind != "" && !slices.Contains(hook.Kinds(), w.kind) {
		return nil, cli.Usage("", "--kind %q is not one of %s", w.kind, strings.Join(hook.Kinds(), ", "))
	}
	if w.oldSecret != "" && !secret.IsReference(w.oldSecret) {
		return nil, literal("--old-secret")
	}
	first, err := readSecret(a, w.secret)
	if err != nil {
		return nil, err
	}
	args := map[string]string{}
	for key, v := range map[string]string{"kind": w.kind, "secret": first, "old_secret": w.oldSecret, "deliver": w.deliver, "allow": w.allow, "header": w.header} {
		if v != "" {
			args[key] = v
		}
	}
	for flag, v := range map[string]string{"per-minute": strconv.Itoa(w.perMinute), "max-body": strconv.FormatInt(w.maxBody, 10), "tolerance": w.tolerance.String(), "once": w.once.String()} {
		if cmd.Flags().Changed(flag) {
			args[strings.ReplaceAll(flag, "-", "_")] = v
		}
	}
	return args, nil
}

// longestSecret is the most that is read of one, in bytes.
const longestSecret = 64 << 10

// readSecret is a reference as it is, and for "-" what standard input holds. A secret itself is refused: every user of the machine
// can read a command line.
func readSecret(a *cli.App, given string) (string, error) {
	switch {
	case given == "" || secret.IsReference(given):
		return given, nil
	case given != "-":
		return "", literal("--secret")
	}
	text, err := io.ReadAll(io.LimitReader(a.In, longestSecret))
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", cli.Usage("for example: printf %s \"$SECRET\" | hob hook add --secret - …", "standard input holds no secret")
	}
	return strings.TrimSpace(string(text)), nil
}

func literal(flag string) error {
	return cli.Usage("others can read a command line; name it by env:NAME, file:PATH, keyring:NAME or cmd:COMMAND, or write - and pipe it in", "%s takes a reference, not the secret itself", flag)
}

func addCommand(a *cli.App) *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use: "add PROMPT", Short: "Make a webhook; its secret is told this once", Args: cli.AtLeast(1, "a PROMPT"),
		Example: "  hob hook add --name deploys \"Tell me what was deployed: {{.service}}.\"\n" +
			"  hob hook add --name issues --kind github --secret env:GITHUB_SECRET \"Sum up {{.issue.title}} by {{.sender.login}}.\"\n" +
			"  hob hook add --name door --kind none \"say: somebody is at the door\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := w.args(a, cmd)
			if err != nil {
				return err
			}
			in["prompt"] = cli.Joined(args)
			return change(cmd.Context(), a, w.name, "add", in, func(h hookRow) string {
				return told(h, fmt.Sprintf("webhook %s (%s) receives at %s", h.Name, h.Kind, h.URL))
			})
		},
	}
	w.flags(cmd)
	return cmd
}

// told adds a secret that was just made, and what to do with it.
func told(h hookRow, said string) string {
	if h.Secret == "" {
		return said
	}
	said += "\nsecret: " + h.Secret + "\ngive it to the sender now: it is not shown again"
	if sets := map[hook.Kind]string{hook.Slack: "Slack", hook.Stripe: "Stripe"}[hook.Kind(h.Kind)]; sets != "" {
		said += "\n" + sets + " signs with a secret of its own and takes no other: give hob that one with hob hook rotate --secret - " + h.Name
	}
	return said
}

// change carries out a verb and says what the webhook is now.
func change(ctx context.Context, a *cli.App, name, verb string, args map[string]string, say func(hookRow) string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Act(ctx, "hooks", name, verb, args, &raw); err != nil {
		return inFlags(err)
	}
	var h hookRow
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("the webhook is not understood: %w", err)
	}
	if h.Secret != "" && a.Quiet && !a.JSON { // it is shown once: no flag may lose it
		a.Say("%s", h.Secret)
		return nil
	}
	return a.Done(raw, say(h))
}

// inFlags names the flag where the API names its argument: at the beginning of what it says.
func inFlags(err error) error {
	code, text, hint := cli.Explain(err)
	if code != cli.ExitUsage {
		return err
	}
	for _, argument := range []string{"name", "deliver", "allow", "header", "secret", "per_minute", "max_body", "tolerance", "once"} {
		for _, end := range []string{": ", " \"", " "} {
			if rest, ok := strings.CutPrefix(text, argument+end); ok {
				return cli.Usage(hint, "--%s%s%s", strings.ReplaceAll(argument, "_", "-"), end, rest)
			}
		}
	}
	return cli.Usage(hint, "%s", text)
}

// now is a webhook as it is.
func now(ctx context.Context, a *cli.App, name string) (raw json.RawMessage, h hookRow, err error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, h, err
	}
	if err := c.Show(ctx, "hooks", name, &raw); err != nil {
		return nil, h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, h, fmt.Errorf("the webhook is not understood: %w", err)
	}
	return raw, h, nil
}

func verbCommand(a *cli.App, verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " HOOK", Short: short, Args: cli.Exactly(1, "one HOOK"), ValidArgsFunction: cli.Complete(a, "hooks"),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, h, err := now(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			if h.Paused == (verb == "pause") {
				return a.Done(raw, fmt.Sprintf("nothing has changed: webhook %s %s", h.Name, map[bool]string{true: "was paused already", false: "was not paused"}[h.Paused]))
			}
			return change(cmd.Context(), a, h.Name, verb, nil, func(h hookRow) string { return fmt.Sprintf(done, h.Name) })
		},
	}
}

func rotateCommand(a *cli.App) *cobra.Command {
	var given string
	var done bool
	cmd := &cobra.Command{
		Use: "rotate HOOK", Short: "Give a webhook a new secret; the old one is taken too until --done", Args: cli.Exactly(1, "one HOOK"),
		ValidArgsFunction: cli.Complete(a, "hooks"), Example: "  hob hook rotate deploys\n  hob hook rotate --done deploys",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Filled(cmd); err != nil {
				return err
			}
			if done && given != "" {
				return cli.Usage("", "--done and --secret exclude each other")
			}
			first, err := readSecret(a, given)
			if err != nil {
				return err
			}
			in, said := map[string]string{}, "webhook %s has a new secret; the one before it is taken until: hob hook rotate --done %[1]s"
			if first != "" {
				in["secret"] = first
			}
			if done {
				in["done"], said = "true", "webhook %s takes its new secret only"
			}
			return change(cmd.Context(), a, args[0], "rotate", in, func(h hookRow) string { return told(h, fmt.Sprintf(said, h.Name)) })
		},
	}
	cmd.Flags().StringVar(&given, "secret", "", "the new one: a reference, or - to read it from standard input (default: hob makes one)")
	cmd.Flags().BoolVar(&done, "done", false, "take the old secret no more")
	return cmd
}

// removeCommand asks: the secret of a webhook is gone for good.
func removeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm HOOK", Short: "Delete a webhook and its secret; what it received stays on record", Args: cli.Exactly(1, "one HOOK"),
		ValidArgsFunction: cli.Complete(a, "hooks"), Example: "  hob hook rm deploys\n  hob hook rm --yes deploys",
	}
	yes := cli.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		var h hookRow
		if err := c.Show(cmd.Context(), "hooks", args[0], &h); err != nil {
			return err
		}
		loss := fmt.Sprintf("this deletes the webhook %s (%s: %s) and its secret; what it received stays on record", h.Name, h.Kind, console.Cut(h.Prompt))
		if err := a.Sure(cmd.Context(), *yes, loss, "delete it?"); err != nil {
			return err
		}
		return change(cmd.Context(), a, h.Name, "remove", nil, func(h hookRow) string { return fmt.Sprintf("webhook %s is deleted", h.Name) })
	}
	return cmd
}
