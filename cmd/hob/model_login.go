package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/sys"
)

// modelLoginCommand makes hob model login.
func modelLoginCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "login codex", Short: "Sign in to the account that pays for a backend", Args: onlySignIns,
		Long: "Sign in to a ChatGPT account, whose subscription then pays for the backend codex. Open the address that is printed in a browser. Where\n" +
			"the browser runs on this machine, that is all; else copy the address that it ends up at and paste it here.",
		Example: "  hob model login codex", ValidArgs: daemon.SignIns(),
		RunE: func(cmd *cobra.Command, _ []string) error { return loginCodex(cmd.Context(), a) },
	}
}

// modelLogoutCommand makes hob model logout.
func modelLogoutCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "logout codex", Short: "Forget the sign-in of a backend", Args: onlySignIns, Example: "  hob model logout codex", ValidArgs: daemon.SignIns(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Do(cmd.Context(), a, api.SignOut, "", api.None{}, "signed out")
		},
	}
}

// onlySignIns accepts a backend that has a sign-in.
func onlySignIns(cmd *cobra.Command, args []string) error {
	names := strings.Join(daemon.SignIns(), ", ")
	if err := cli.Exactly(1, "the name of a backend: "+names)(cmd, args); err != nil {
		return err
	}
	if !slices.Contains(daemon.SignIns(), args[0]) {
		return cli.Usage("the others take an api_key in config.toml", "only "+names+" has a sign-in, not %q", args[0])
	}
	return nil
}

// loginCodex begins a sign-in, and waits until the browser or a pasted address ends it. The daemon runs the
// sign-in (OAuth with PKCE): it makes the address, waits on a local port for the browser, and keeps the tokens.
// This command only shows the address and hands a pasted one over.
func loginCodex(ctx context.Context, a *cli.App) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	s, err := client.Do(ctx, c, api.BeginSignIn, "", api.None{})
	if err != nil {
		return err
	}
	who, err := login[api.Account]{
		await: func(ctx context.Context) (api.Account, error) {
			return client.Do(ctx, c, api.AwaitSignIn, "", api.None{})
		},
		finish: func(ctx context.Context, in api.SignInAddress) (api.Account, error) {
			return client.Do(ctx, c, api.FinishSignIn, "", in)
		},
		cancel: func(ctx context.Context) (api.Done, error) {
			return client.Do(ctx, c, api.CancelSignIn, "", api.None{})
		},
	}.run(ctx, a, s)
	if err != nil {
		return err
	}
	// Some accounts have no address, only an id.
	name := cmp.Or(who.Email, who.Account)
	return a.Done(who, fmt.Sprintf("signed in as %s; the sign-in is kept in %s", console.OrDash(name), who.Where))
}

// login is a sign-in that the daemon runs, by the routes of the API.
type login[R any] struct {
	await  func(ctx context.Context) (R, error)
	finish func(ctx context.Context, in api.SignInAddress) (R, error)
	cancel func(ctx context.Context) (api.Done, error)
}

// loginResult is the outcome of a sign-in.
type loginResult[R any] struct {
	who R
	err error
}

// run shows the address of a sign-in that has begun, and waits for its end. Abandoned, it frees the port of the daemon.
func (l login[R]) run(ctx context.Context, a *cli.App, s api.SignIn) (R, error) {
	a.Print(a.Err, "Open this address in a browser and sign in:\n\n  "+console.OneLine(s.Address)+"\n")
	if s.Note != "" {
		a.Note(s.Note)
	}
	a.Print(a.Err, "Then, unless that browser runs on this machine, paste the address that it ends up at here (until "+a.Exact(s.Until)+"):")
	// The two readers of wait end with this command, whichever way it ends.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	who, err := l.wait(ctx, a)
	if err != nil {
		// Also after Ctrl-C: the daemon would hold its port until the sign-in expires.
		last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		_, freed := l.cancel(last)
		err = errors.Join(err, freed)
	}
	return who, err
}

// wait waits for the end of the sign-in; meanwhile it takes addresses that are pasted. One that is wrong is told, and the next one may be right.
func (l login[R]) wait(ctx context.Context, a *cli.App) (none R, _ error) {
	// The buffer lets the sender end even if nobody receives any more.
	over := make(chan loginResult[R], 1)
	lines := make(chan string)
	g := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	g.Once("wait for the sign-in", func() error {
		var e loginResult[R]
		e.who, e.err = l.await(ctx)
		over <- e
		return nil
	})
	g.Once("read addresses", func() error { // a blocked read ends with the process
		defer close(lines)
		in := bufio.NewScanner(a.In)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return nil
			}
		}
		return in.Err()
	})
	for {
		select {
		// The daemon has ended the sign-in: with an account, or with an error such as its time limit.
		case e := <-over:
			return e.who, e.err
		case text, more := <-lines:
			if !more {
				if !cli.IsTerminal(a.In) && !cli.IsTerminal(a.Err) { // with a secret on standard input, there may still be a person
					return none, &cli.Problem{Code: cli.ExitFailed, Text: "no address was given, and there is no terminal to ask for one at", Hint: "run it on a terminal, or pipe the address into it"}
				}
				lines = nil // the browser can still finish the sign-in
				continue
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			if _, err := l.finish(ctx, api.SignInAddress{Address: text}); err != nil {
				// A wrong address does not end the sign-in. The next one may be right.
				said, hint, _ := client.Explain(err)
				a.Note(strings.TrimSuffix(said+": "+hint, ": "))
			}
		}
	}
}
