package daemon

import (
	"context"
	"log/slog"
	"time"

	"hob/config"
	"hob/daemon/clock"
	"hob/daemon/store"
	"hob/daemon/store/backup"
	"hob/daemon/store/view"
)

// Copies lets the tests make a day's copies without the day: look is one look at what is due, missing what follows an error of it.
func Copies(home string, s *store.Store, c clock.Clock, free int64) (look func(context.Context) error, missing func(context.Context, error) error, err error) {
	d := &daemon{opt: Options{Home: home}, clock: c, store: s, view: view.New(s.Reader()), log: slog.New(slog.DiscardHandler)}
	if d.file, err = config.Open(d.opt.config(), "", []string{"HOB_OWNER__TIMEZONE=UTC"}); err != nil {
		return nil, nil, err
	}
	made := copies{d, backup.DefaultPlan(), func(string) (int64, error) { return free, nil }}
	return made.look, made.missing, nil
}

// Quiet is the time of day after which a copy is due.
const Quiet = 4 * time.Hour
