package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/sys"
)

// PairCommand makes hob pairing start.
func PairCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "start CHANNEL", Short: "Show a code that makes you a channel's owner, and wait for it", Args: cli.Exactly(1, "one CHANNEL"),
		Long: "Show a code. Type it into a private chat with hob on that channel within ten minutes: your account there is then the owner's. hob knows it by\n" +
			"the platform's own id, not by a name. The command waits for the code and shows every wrong one. Five wrong codes end the pairing, and so does\n" +
			"Ctrl-C. The exit code is 0 if an account was paired, otherwise 1. With --json the first document has the code and the link, the second one says\n" +
			"how it ended. Tell the code to nobody.",
		Example: "  hob pairing start telegram", ValidArgsFunction: cli.Complete(a, api.Channels),
		RunE: func(cmd *cobra.Command, args []string) error { return startPairing(cmd.Context(), a, args[0]) },
	}
}

// startPairing pairs the owner of a channel of the running daemon.
func startPairing(ctx context.Context, a *cli.App, channel string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return pairWith(ctx, a, c, channel)
}

// pairWith begins a pairing and waits until it is over. If it has to stop earlier, it ends the pairing, because nobody would see wrong
// codes any more.
func pairWith(ctx context.Context, a *cli.App, c *client.Client, channel string) (err error) {
	w := &pairingWatch{app: a, client: c}
	// The place in the event stream is taken before the pairing begins, so no event of it can be missed.
	if w.seq, err = newestEvent(ctx, c); err != nil {
		return err
	}
	if w.PairingStart, err = beginPairing(ctx, c, channel); err != nil {
		return err
	}
	if err := showPairingCode(a, w.PairingStart); err != nil {
		return errors.Join(err, endPairing(ctx, c, w.ID))
	}
	r, ended, err := w.end(ctx)
	if err != nil {
		return errors.Join(err, endPairing(ctx, c, w.ID))
	}
	switch {
	case r.State == api.PairingBound:
		return a.Done(ended, fmt.Sprintf("bound: %s is your account on %s from now on", PairedName(r), r.Channel))
	case r.State == "revoked":
		return &cli.Problem{Code: cli.ExitFailed, Text: "the pairing was revoked", Doc: ended}
	// The daemon has one state "over" for all ends without a bound account; the time tells two of them apart.
	case !time.Now().Before(r.Until):
		return &cli.Problem{Code: cli.ExitFailed, Text: "no account was paired: the code's ten minutes are over", Hint: "begin again with: hob pairing start " + channel, Doc: ended}
	}
	return &cli.Problem{Code: cli.ExitFailed, Text: "no account was paired: the code is no longer valid", Hint: "there were too many wrong codes, or another pairing took its place; begin again with: hob pairing start " + channel, Doc: ended}
}

// pairingBeginTimeout is how long a daemon may take to begin a pairing: it asks the platform for the link.
const pairingBeginTimeout = 15 * time.Second

// beginPairing begins a pairing. An interrupt does not end it halfway, so that what was begun is known, and can be ended.
func beginPairing(ctx context.Context, c *client.Client, channel string) (api.PairingStart, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), pairingBeginTimeout)
	defer stop()
	return client.Do(ctx, c, api.StartPairing, channel, api.None{})
}

// newestEvent returns the sequence number after which the pairing's events follow. A start beyond the newest
// event counts as the newest one, and its number comes back in a header.
func newestEvent(ctx context.Context, c *client.Client) (seq int64, err error) {
	err = c.Follow(ctx, math.MaxInt64, false, func(f client.Frame) error {
		seq = max(seq, f.Start)
		return nil
	})
	return seq, err
}

// showPairingCode prints the code; it is shown nowhere else. With --json it prints the pairing as the first of two documents.
func showPairingCode(a *cli.App, b api.PairingStart) error {
	if a.JSON {
		return a.Document(b)
	}
	for _, n := range b.Notes {
		a.Print(a.Err, "hob: "+console.OneLine(n))
	}
	where := "Open a private chat with hob on " + b.Channel + ", and send it this code:"
	if b.Link != "" {
		where = console.OneLine(b.Link) + " The code is:"
	}
	drawQR(a, b.URL) // first: it is as high as a small terminal
	a.Print(a.Err, where+"\n\n  "+console.OneLine(b.Code)+"\n")
	a.Print(a.Err, fmt.Sprintf("It is valid until %s; %d wrong codes end it. Waiting for it; Ctrl-C ends that.", a.Exact(b.Until), b.Left))
	return nil
}

// drawQR prints a link as a QR code if the terminal is wide enough. The link follows as text, so nothing is lost without the code.
func drawQR(a *cli.App, link string) {
	if link == "" || !cli.IsTerminal(a.Err) {
		return
	}
	text, width, err := qrText(link, a.Color(a.Err))
	switch {
	case err != nil:
		a.Note(err.Error()) // the link follows
	case width <= cli.Columns(a.Err):
		a.Print(a.Err, text)
	}
}

// triesLeft are those that are left, in words.
func triesLeft(n int64) string {
	if n == 1 {
		return "1 try is left"
	}
	return fmt.Sprintf("%d tries are left", n)
}

// pairingWatch follows a pairing until it ends. The stored row decides; the event stream only says when to read it, and reports wrong codes.
type pairingWatch struct {
	app    *cli.App
	client *client.Client
	api.PairingStart
	seq int64 // the newest event that was seen
}

// again is the pause before a daemon that is gone is asked again, and slack what a clock may take to come round.
const (
	reconnectDelay = time.Second
	clockSlack     = 50 * time.Millisecond
)

// end waits for the end and returns the final row. It survives a restart of the daemon.
func (w *pairingWatch) end(ctx context.Context) (r api.Pairing, doc json.RawMessage, err error) {
	for {
		// Each round reads the row first, because the end may have come before the stream was followed.
		r, doc, err = cli.Row(ctx, w.client, api.ShowPairing, cli.ID(w.ID))
		switch {
		case err == nil && r.State != api.PairingOpen:
			return r, doc, nil
		// The pairing is still open: wait for something that may have changed it.
		case err == nil:
			err = w.change(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return r, nil, ctx.Err()
		// A daemon that is gone may come back while the code is valid. Any other error ends the wait.
		case errors.Is(err, client.ErrNoDaemon) && time.Now().After(w.Until), err != nil && !errors.Is(err, client.ErrNoDaemon):
			return r, nil, err
		case err != nil:
			sys.Sleep(ctx, reconnectDelay)
		}
	}
}

// change returns when the pairing may have changed or its time is over, and prints wrong codes as they come.
func (w *pairingWatch) change(ctx context.Context) error {
	within, stop := context.WithDeadline(ctx, w.Until.Add(clockSlack))
	defer stop()
	// A reader ends Follow by returning an error. This one means success.
	changed := errors.New("changed")
	err := w.client.Follow(within, w.seq, true, func(f client.Frame) error {
		// A frame without an event only says where the stream begins.
		if f.Event == nil {
			w.seq = max(w.seq, f.Start)
			return nil
		}
		w.seq = f.Event.Seq
		if !strings.HasPrefix(f.Event.Type, "pairing.") {
			return nil
		}
		w.wrong(f.Event.Type, f.Event.Data)
		return changed
	})
	switch {
	case errors.Is(err, changed), within.Err() != nil:
		return nil
	case errors.Is(err, client.ErrStreamEnded): // the daemon stops, and may start again
		return fmt.Errorf("%w: %w", client.ErrNoDaemon, err)
	}
	return err
}

// wrong shows a wrong code of this pairing.
func (w *pairingWatch) wrong(kind string, data map[string]any) {
	// encoding/json decodes numbers of untyped data as float64.
	id, _ := data["pairing"].(float64)
	left, _ := data["left"].(float64)
	if kind != "pairing.wrong" || int64(id) != w.ID {
		return
	}
	r := api.Pairing{}
	r.Person, _ = data["person"].(string)
	r.Name, _ = data["name"].(string)
	w.app.Print(w.app.Err, fmt.Sprintf("wrong code from %s: %s", PairedName(r), triesLeft(int64(left))))
}

// pairingEndTimeout is how long the end of a pairing may take to be noted.
const pairingEndTimeout = 5 * time.Second

// endPairing ends an abandoned pairing, also after an interrupt. An account that was bound meanwhile stays bound.
func endPairing(ctx context.Context, c *client.Client, id int64) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), pairingEndTimeout)
	defer stop()
	_, err := client.Do(ctx, c, api.EndPairing, cli.ID(id), api.None{})
	return err
}
