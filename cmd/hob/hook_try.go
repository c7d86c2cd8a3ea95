package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/text"
	"hob/scheduler/webhook"
)

// hookTestText describes the answer in one sentence.
func hookTestText(t webhook.Trial) string {
	var answer client.Problem
	_ = json.Unmarshal(t.Answer, &answer) // it may be anything
	text := fmt.Sprintf("%d %s", t.Status, http.StatusText(t.Status))
	switch {
	case answer.Detail != "":
		text += ": " + answer.Detail
	case t.Inbox != 0 && t.Status == http.StatusAccepted:
		text += fmt.Sprintf(": inbox row %d", t.Inbox)
	// The delivery was recognised as a repetition, so the row is the one of the first time.
	case t.Inbox != 0:
		text += fmt.Sprintf(": inbox row %d, as before", t.Inbox)
	}
	return text
}

// hookTestCommand makes hob hook test. The daemon builds a request as the sender of that kind would, signs it
// with the stored secret, and posts it to its own address, so the secret never leaves it.
func hookTestCommand(a *cli.App) *cobra.Command {
	var file string
	var headers []string
	cmd := &cobra.Command{
		Use: "test HOOK", Short: "Post to a webhook as its senders would, and show the answer", Args: cli.Exactly(1, "one HOOK"),
		ValidArgsFunction: cli.Complete(a, api.Webhooks),
		Example:           "  hob hook test deploys\n  hob hook test issues --body issue.json --header \"X-GitHub-Event: issues\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Filled(cmd); err != nil {
				return err
			}
			in := api.WebhookSample{}
			if len(headers) > 0 {
				in.Headers = strings.Join(headers, "\n")
			}
			// Without --body the daemon makes a sample of the kind. An empty file is a body too, so the field
			// is a pointer.
			if file != "" {
				body, err := readBody(a, file)
				if err != nil {
					return err
				}
				in.Body = &body
			}
			return testHook(cmd, a, args[0], in)
		},
	}
	cmd.Flags().StringVar(&file, "body", "", "a `file` with the body, or - for standard input (default: a sample of the kind)")
	cmd.Flags().StringArrayVar(&headers, "header", nil, `a header in the place of the one that the sender would send, as in "X-GitHub-Event: issues"; can be repeated`)
	return cmd
}

// testHook sends the sample and prints the answer of the webhook, which is not the answer of the API: a refused
// delivery is a result of the test.
func testHook(cmd *cobra.Command, a *cli.App, name string, in api.WebhookSample) error {
	c, err := a.Client(cmd.Context())
	if err != nil {
		return err
	}
	t, err := client.Do(cmd.Context(), c, api.TestWebhook, name, in)
	if err != nil {
		var p *client.Problem
		// The API accepts smaller bodies than webhooks do.
		if errors.As(err, &p) && p.Status == http.StatusRequestEntityTooLarge {
			p.Hint = "post a larger body to the address itself: hob hook show " + name
		}
		return err
	}
	// Only a status below 300 means that the webhook has accepted the delivery.
	if t.Status >= http.StatusMultipleChoices {
		p := &cli.Problem{Code: cli.ExitFailed, Text: hookTestText(t), Doc: t}
		// A paused webhook answers like one that does not exist, so that its senders learn nothing. The owner
		// may know.
		if t.Status == http.StatusNotFound {
			if h, err := client.Show(cmd.Context(), c, api.ShowWebhook, name); err == nil && h.Paused {
				p.Hint = "it is paused: hob hook resume " + name
			}
		}
		return p
	}
	text := hookTestText(t)
	if t.Inbox != 0 {
		text += "\nsee what comes of it: hob hook runs " + name
	}
	return a.Done(t, text)
}

// readBody reads one byte more than a webhook accepts, so that a larger body is refused by the daemon.
func readBody(a *cli.App, path string) (string, error) {
	in := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			why, _ := errors.AsType[*fs.PathError](err) // os.Open returns no other
			// The body itself may have been typed, which can be long.
			return "", cli.Usage("--body takes a file, or - for standard input", "--body %q cannot be read: %v", text.Line(path, 60), why.Err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, webhook.MostBody+1))
	if err != nil {
		return "", fmt.Errorf("read the body: %w", err)
	}
	return string(body), nil
}
