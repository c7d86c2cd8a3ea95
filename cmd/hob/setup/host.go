package setup

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"hob/cmd/hob/cli"
	"hob/daemon"
	"hob/daemon/api/client"
	"hob/daemon/logfile"
	"hob/daemon/sys"
)

// host is the daemon that the wizard works with. A wizard needs one, because the daemon makes the test calls and hears the pairing codes.
type host struct {
	client *client.Client
	own    bool         // it runs in this process, until stop
	stop   func() error // waits until it has ended; nothing to do for a daemon of another process
}

// hosted finds the daemon of a home, or starts one in this process. Its port is any free one: only this process asks it.
func hosted(ctx context.Context, home, version, self string) (*host, error) {
	c, err := client.Find(ctx, home, false)
	if err == nil {
		return &host{client: c, stop: func() error { return nil }}, nil
	}
	if !errors.Is(err, client.ErrNoDaemon) {
		return nil, err
	}
	file := logfile.New(filepath.Join(home, "state", "log", "hob.log"), logfile.MaxBytes, logfile.Kept)
	log := slog.New(logfile.Lines(file, slog.LevelInfo))
	// An interrupt ends the wizard first, which may still have to take something back.
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	sys.NewGroup(log, nil).Once("daemon", func() error {
		ended <- daemon.Run(running, daemon.Options{
			Home: home, Listen: "127.0.0.1:0", Version: version, Self: self, Log: log, Ready: func(daemon.Ready) { close(ready) },
		})
		return nil
	})
	stop := func() error {
		end()
		return errors.Join(<-ended, file.Close())
	}
	select {
	case <-ready:
	case err := <-ended:
		end()
		if errors.Is(err, daemon.ErrRunning) {
			err = &cli.Problem{Code: cli.ExitFailed, Text: "a hob holds this home and does not answer", Hint: "see: hob doctor"}
		}
		return nil, errors.Join(err, file.Close())
	}
	if c, err = client.Find(ctx, home, false); err != nil {
		return nil, errors.Join(err, stop())
	}
	return &host{client: c, own: true, stop: stop}, nil
}
