package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/scheduler"
)

// slowStatus is the time within which an idle daemon should answer a status request.
const slowStatus = time.Second

// checkDaemon checks that the daemon answers and makes progress.
func checkDaemon(_ context.Context, s *facts) (r Result) {
	switch {
	// The lock is held, but neither the socket nor the port answers: the process hangs, or its socket was
	// removed.
	case errors.Is(s.databaseErr, daemon.ErrRunning), errors.Is(s.clientErr, client.ErrSilent):
		r.add(Fail, "hob service restart, or end the process that holds "+s.state("hob.lock"), "a hob holds this home, and does not answer")
	// Nothing answers and nothing holds the lock: hob simply does not run, which may be on purpose.
	case s.client == nil && (s.idle() || errors.Is(s.clientErr, client.ErrNoDaemon)):
		r.add(Warn, "hob up, or hob service start", "hob does not run")
	// A daemon runs, but its socket does not accept this user.
	case s.client == nil:
		r.add(Fail, "only its owner may speak to it, or the group hob: sudo usermod -aG hob $USER, and log in again", "%v", s.clientErr)
	case s.statusErr != nil:
		r.add(Fail, "hob service logs", "hob answers, but not with its status: %v", s.statusErr)
	default:
		r.progress(s)
	}
	return r.or("hob %s answers in %s at %s", s.status.Version, console.Span(s.took.Milliseconds()), s.status.Address)
}

// progress reports a daemon that answers but does not get on. "stuck" is decided by the daemon's own watchdog.
func (r *Result) progress(s *facts) {
	if s.status.Thread.State == "stuck" {
		r.add(Fail, "hob service restart", "the thread makes no progress")
	}
	if s.status.Scheduler.State == "stuck" {
		r.add(Fail, "hob service restart", "the scheduler makes no progress")
	}
	if s.status.Database.Fault != "" {
		r.add(Fail, "hob status; docs/starting.md says what to do", "hob cannot store: %s", s.status.Database.Fault)
	}
	if s.status.SafeMode.On {
		r.add(Fail, "hob safe-mode off", "safe mode is on: %s", s.status.SafeMode.Why)
	}
	if s.took > slowStatus {
		r.add(Warn, "look what else the machine does", "hob took %s to answer", console.Span(s.took.Milliseconds()))
	}
}

// checkModel checks that each configured model can be reached with its key. The roster says which models are
// resting after errors; the list of servers says which of them answer now.
func checkModel(ctx context.Context, s *facts) (r Result) {
	roster, rosterErr := client.Show(ctx, s.client, api.ShowRoster, "")
	servers, serversErr := client.Show(ctx, s.client, api.ShowModelServers, "")
	if err := errors.Join(rosterErr, serversErr); err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: "hob model list"}
	}
	for _, m := range roster.Models {
		// A fault, such as a missing key, stays until the config changes. A model that rests is tried again by itself.
		if m.Fault != "" {
			r.add(Fail, "hob model list", "%s cannot be asked: %s", m.Name, m.Fault)
		} else if m.Resting != nil {
			r.add(Warn, "hob model test "+m.Name, "%s rests until %s: %s", m.Name, s.at(m.Resting.Until), m.Resting.Fault)
		}
	}
	for _, server := range servers {
		if len(server.Names) > 0 && server.Error != "" {
			repair := "hob model test " + server.Names[0]
			if server.Hint != "" {
				repair = server.Hint + "; then: " + repair
			}
			r.add(Fail, repair, "%s at %s: %s", server.Backend, server.BaseURL, server.Error)
		}
	}
	switch {
	// A model of the config is in use, and the text at the end names it.
	case s.status.Model != "builtin":
	case s.config == nil:
		return r.or("the built-in interpreter serves; what is set cannot be read")
	case s.config.Model.Backend != "" && s.config.Model.Backend != "builtin":
		return r.or("the built-in interpreter serves, although [model] is set to %s/%s (to ask that one: hob model use default)", s.config.Model.Backend, s.config.Model.Model)
	default:
		return r.or("the built-in interpreter serves: no model is set")
	}
	return r.or("%s can be reached", s.status.Model)
}

// checkVoice checks that the endpoint of [voice] answers and accepts its key. Nothing is transcribed.
func checkVoice(ctx context.Context, s *facts) (r Result) {
	voice, err := client.Show(ctx, s.client, api.ShowTranscription, "")
	if err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: "hob service logs"}
	}
	// Without an endpoint there is nothing before the colon.
	found := strings.TrimPrefix(voice.BaseURL+": "+voice.Error, ": ")
	switch {
	// An endpoint that is only busy is no mistake of the config.
	case voice.Error != "" && voice.Temporary:
		r.add(Warn, "try it again in a while: hob doctor", "%s", found)
	case voice.Error != "":
		r.add(Fail, "look at base_url, model and api_key in [voice] of config.toml", "%s", found)
	case voice.BaseURL == "":
		return r.or("no [voice] is set: hob keeps voice notes, and does not listen to them")
	case !voice.Key:
		return r.or("%s is there, and asks for no key", voice.BaseURL)
	}
	return r.or("%s is there, and takes the key", voice.BaseURL)
}

// checkChannels reports the directions that the host of the channels has seen fail. It sends nothing: a
// direction that was not used yet is only counted.
func checkChannels(_ context.Context, s *facts) (r Result) {
	untried := 0
	for _, c := range s.status.Channels {
		// Nothing was sent there since the start, so nobody knows whether it works.
		if c.Sending.State == "not tried" {
			untried++
		}
		// Receiving and sending fail independently: a channel can be read-only, or its platform may refuse
		// messages only.
		for what, d := range []api.Direction{c.Receiving, c.Sending} {
			what := []string{"receive", "send"}[what]
			switch d.State {
			case "down":
				r.add(Fail, "look at [channels."+c.Name+"] in config.toml; it is tried again for as long as it takes", "%s cannot %s since %s: %s", c.Name, what, s.at(d.Since), d.LastError)
			case "degraded":
				r.add(Warn, "", "%s had trouble to %s: %s", c.Name, what, d.LastError)
			}
		}
	}
	if len(s.status.Channels) == 0 {
		return r.or("only the command line: no channel is set")
	}
	all := console.Plural(int64(len(s.status.Channels)), "channel")
	switch untried {
	case 0:
		return r.or("%s can receive and send", all)
	case 1:
		return r.or("%s can receive; %d can send, 1 was not tried", all, len(s.status.Channels)-1)
	}
	return r.or("%s can receive; %d can send, %d were not tried", all, len(s.status.Channels)-untried, untried)
}

// nextJobs is how many of the jobs that run next are checked. Those that are known to be in trouble are found however many there are.
const nextJobs = 200

// checkJobs reports jobs that cannot run, and jobs whose last runs failed.
func checkJobs(ctx context.Context, s *facts) (r Result) {
	// One request for the jobs that are known to be in trouble, one for the next jobs. A job can be in both answers.
	known, err := client.List(ctx, s.client, api.Jobs, client.Filter{State: scheduler.InTrouble, Limit: 1000})
	next, err2 := client.List(ctx, s.client, api.Jobs, client.Filter{Limit: nextJobs})
	if err := errors.Join(err, err2); err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: "hob cron list"}
	}
	seen := map[int64]bool{}
	for _, j := range append(known, next...) {
		if seen[j.ID] {
			continue
		}
		seen[j.ID] = true
		switch {
		case j.Broken != "":
			r.add(Fail, fmt.Sprintf("hob cron update %s, or hob cron rm %s", j.Name, j.Name), "%s is broken: %s", j.Name, j.Broken)
		case j.Failures > 0:
			failed := "the last run of " + j.Name + " failed"
			if j.Failures > 1 {
				failed = fmt.Sprintf("the last %d runs of %s failed", j.Failures, j.Name)
			}
			r.add(Warn, "hob cron runs "+j.Name, "%s", failed)
		}
	}
	return r.or("%s, none broken", console.Plural(max(int64(s.status.Scheduler.Jobs), int64(len(seen))), "job"))
}

// failureWindow is the age up to which failures are counted.
const failureWindow = 24 * time.Hour

// checkFailures counts recent dead letters and failed turns.
func checkFailures(ctx context.Context, s *facts) (r Result) {
	since := s.now().Add(-failureWindow)
	for _, of := range []struct {
		resource, what, repair string
		count                  func() (int64, error)
	}{
		{"inbox", "input", "hob inbox list --state dead, then hob inbox retry SEQ", func() (int64, error) {
			return countSince(ctx, s.client, api.Inbox, "dead", since, func(r api.InboxRow) time.Time { return r.Received })
		}},
		{"turns", "failed turn", "hob turns list --state failed, then hob turns show ID", func() (int64, error) {
			return countSince(ctx, s.client, api.Turns, "failed", since, func(t api.Turn) time.Time { return t.Ended })
		}},
		{"outbox", "message that could not be sent", "hob outbox list --state dead, then hob outbox retry ID", func() (int64, error) {
			return countSince(ctx, s.client, api.Outbox, "dead", since, func(r api.OutboxRow) time.Time { return r.Ended })
		}},
	} {
		n, err := of.count()
		if err != nil {
			return Result{State: Fail, Found: err.Error(), Repair: "hob " + of.resource + " list"}
		}
		if n > 0 {
			r.add(Warn, of.repair, "%d × %s", n, of.what)
		}
	}
	return r.or("nothing was given up within a day")
}

// countSince counts the rows in a state whose time is after since. The newest rows come first: a page of 100 that ends before since has all of
// them. Otherwise it reads 1000 rows, so a number that high is a lower bound.
func countSince[R any](ctx context.Context, c *client.Client, l api.List[R], state string, since time.Time, at func(R) time.Time) (n int64, err error) {
	for _, limit := range []int{100, 1000} {
		rows, err := client.List(ctx, c, l, client.Filter{State: state, Limit: limit})
		if err != nil {
			return 0, err
		}
		n = 0
		for _, row := range rows {
			if at(row).After(since) {
				n++
			}
		}
		if len(rows) < limit || !at(rows[len(rows)-1]).After(since) {
			break
		}
	}
	return n, nil
}
