//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/store/storetest"
)

// largeTurns is the number of turns of the large home. It has as many messages in and out, twice as many items, and 100,000 jobs: about 1 GB.
const largeTurns = 1_000_000

// unreachable is a config with seven channels, none of which answers: nothing listens at port 9 of the loopback address.
const unreachable = `
[channels.telegram]
token = "env:HOB_BENCH"
api_base = "http://127.0.0.1:9"
known = ["1"]
[channels.matrix]
homeserver = "http://127.0.0.1:9"
token = "env:HOB_BENCH"
known = ["@a:example.org"]
[channels.slack]
app_token = "env:HOB_BENCH"
bot_token = "env:HOB_BENCH"
api_base = "http://127.0.0.1:9/api"
known = ["U012AB3CD"]
[channels.irc]
server = "127.0.0.1:9"
nick = "hob"
account = "hob"
password = "env:HOB_BENCH"
known = ["$a"]
[channels.email]
imap = "127.0.0.1:9"
smtp = "127.0.0.1:9"
address = "hob@example.org"
password = "env:HOB_BENCH"
known = ["a@example.org"]
[channels.ntfy]
server = "http://127.0.0.1:9"
topic = "bench"
token = "env:HOB_BENCH"
owner = true
[channels.signal]
account = "+491701234567"
url = "http://127.0.0.1:9"
known = ["11111111-1111-4111-8111-111111111111"]
`

// restRows are a process that nobody talks to.
func restRows() []row {
	return []row{
		{name: "idle memory after 60 s, anonymous", unit: "MB", goal: 6, rounds: 1, open: atRest(func(r *rest) float64 { return r.memory })},
		{name: "idle memory after 1,000 turns and 20 s, anonymous", unit: "MB", goal: 12, rounds: 1, open: rested},
		{name: "context switches a second at rest", unit: "/s", goal: 0.2, rounds: 1, open: atRest(func(r *rest) float64 { return r.alone })},
		{name: "the same, seven channels that do not answer", unit: "/s", goal: 1, rounds: 1, open: atRest(func(r *rest) float64 { return r.unreachable })},
	}
}

// largeRows are a home with a million turns and 100,000 jobs.
func largeRows() []row {
	list := []row{{name: "exec to the ready line, large home", unit: "ms", goal: 300, rounds: 5, open: func(ctx context.Context, l *lab) (m measurement, err error) {
		home, err := l.large(ctx)
		return measurement{job: func(ctx context.Context) (float64, error) {
			d, err := l.start(ctx, home)
			if err != nil {
				return 0, err
			}
			return ms(d.ready), d.stop()
		}}, err
	}}}
	for _, command := range []string{"why last", "sessions list", "turns list --state failed", "inbox list --state queued", "cron list", "doctor"} {
		list = append(list, row{name: fmt.Sprintf("`hob %s`, large home", command), unit: "ms", goal: 100, rounds: 9, open: asked(strings.Fields(command))})
	}
	return append(list, row{name: "backup of the large home, checked", unit: "ms", anchor: "`VACUUM INTO` by sqlite3", goal: 1, rounds: 1, open: copied})
}

// large makes the large home at its first use. That takes a minute or more.
func (l *lab) large(ctx context.Context) (string, error) {
	if l.largeHome != "" {
		return l.largeHome, nil
	}
	home, err := l.home("")
	if err != nil {
		return "", err
	}
	state := filepath.Join(home, "state")
	if err := errors.Join(os.MkdirAll(state, 0o700), storetest.FillLarge(ctx, state, largeTurns, time.Now())); err != nil {
		return "", err
	}
	l.largeHome = home
	return home, nil
}

// asked measures a command, with its own start, against a daemon of the large home.
func asked(command []string) func(context.Context, *lab) (measurement, error) {
	return func(ctx context.Context, l *lab) (m measurement, err error) {
		home, err := l.large(ctx)
		if err != nil {
			return m, err
		}
		d, err := l.start(ctx, home)
		if err != nil {
			return m, err
		}
		return measurement{job: func(ctx context.Context) (float64, error) {
			cmd := exec.CommandContext(ctx, l.hob, append([]string{"--home", home}, command...)...) // #nosec G204 -- commands of this program
			began := time.Now()
			out, err := cmd.CombinedOutput()
			// A finding of the doctor is an exit code of its own, and no failure of the measurement.
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && command[0] == "doctor" {
				err = nil
			}
			if err != nil {
				return 0, fmt.Errorf("hob %s: %w: %s", strings.Join(command, " "), err, out)
			}
			return ms(time.Since(began)), nil
		}, close: d.stop}, nil
	}
}

// copied measures a backup of the large home beside the same by the C library, which checks nothing.
func copied(ctx context.Context, l *lab) (m measurement, err error) {
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		return m, fmt.Errorf("the anchor needs the program sqlite3: %w", err)
	}
	home, err := l.large(ctx)
	if err != nil {
		return m, err
	}
	d, err := l.start(ctx, home)
	if err != nil {
		return m, err
	}
	n := 0
	// Each copy gets a new name and is removed at once: a full disk would end the measurement.
	fresh := func(copy func(to string) sample) sample {
		return func(ctx context.Context) (float64, error) {
			n++
			to := filepath.Join(l.dir, fmt.Sprint("copy", n, ".db"))
			v, err := copy(to)(ctx)
			return v, errors.Join(err, os.RemoveAll(to), os.RemoveAll(to+".sha256"))
		}
	}
	return measurement{
		beside: fresh(func(to string) sample {
			return took(l.dir, sqlite, filepath.Join(home, "state", "hob.db"), "VACUUM INTO '"+to+"'")
		}),
		job: fresh(func(to string) sample {
			return took(l.dir, l.hob, "--home", home, "backup", "create", "--database", to)
		}),
		close: d.stop,
	}, nil
}

// rested measures the memory of a daemon that rests after work.
func rested(ctx context.Context, l *lab) (m measurement, err error) {
	c, err := l.converse(ctx, true)
	if err != nil {
		return m, err
	}
	return measurement{job: func(ctx context.Context) (float64, error) {
		for n := range 1000 {
			if _, err := c.say(ctx, fmt.Sprint("s", n/10)); err != nil {
				return 0, err
			}
		}
		pause(ctx, 20*time.Second)
		kb, err := c.status("RssAnon")
		return kb / 1024, err
	}, close: c.end}, nil
}

// Times of a rest. After settled, a daemon has done what follows a start, and tries channels that do not answer at its usual intervals.
const (
	idleAfter = time.Minute
	settled   = 2 * time.Minute
	counting  = 2 * time.Minute
)

// rest holds the figures of two daemons that nobody talks to.
type rest struct {
	memory             float64 // of the first after idleAfter: RssAnon, in MB, which is the memory without the pages of the program file
	alone, unreachable float64 // how often their threads wake: the voluntary context switches of a second (proc_pid_status(5))
}

// atRest is a figure of the two daemons. They rest side by side, once for all rows.
func atRest(figure func(*rest) float64) func(context.Context, *lab) (measurement, error) {
	return func(_ context.Context, l *lab) (measurement, error) {
		return measurement{job: func(ctx context.Context) (float64, error) {
			if l.rest == nil {
				r, err := l.resting(ctx)
				if err != nil {
					return 0, err
				}
				l.rest = r
			}
			return figure(l.rest), nil
		}}, nil
	}
}

// resting measures two daemons at rest: one alone, and one with channels that do not answer.
func (l *lab) resting(ctx context.Context) (r *rest, err error) {
	var list [2]*daemon
	for i, config := range []string{"", unreachable} {
		home, err := l.home(config)
		if err != nil {
			return nil, err
		}
		d, err := l.start(ctx, home)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, d.stop()) }()
		list[i] = d
	}
	pause(ctx, idleAfter)
	kb, err := list[0].status("RssAnon")
	if err != nil {
		return nil, err
	}
	pause(ctx, settled-idleAfter)
	var rate [2]float64
	for _, sign := range []float64{-1, 1} {
		for i, d := range list {
			n, err := d.switches()
			if err != nil {
				return nil, err
			}
			rate[i] += sign * n / counting.Seconds()
		}
		if sign < 0 {
			pause(ctx, counting)
		}
	}
	return &rest{memory: kb / 1024, alone: rate[0], unreachable: rate[1]}, ctx.Err()
}

// switches counts the voluntary context switches of all threads so far.
func (d *daemon) switches() (n float64, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, path := range threads {
		v, err := field(path, "voluntary_ctxt_switches")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // a thread that ended meanwhile
		}
		if err != nil {
			return 0, err
		}
		n += v
	}
	return n, nil
}

// pause waits, or ends with ctx. The measurement then fails at its next step.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
