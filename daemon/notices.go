package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"hob/channels/admin"
	"hob/daemon/event"
	"hob/daemon/llm/catalog"
	"hob/daemon/store"
	"hob/scheduler"
)

// The names under which the store keeps the notices that the owner has received.
// A change of one of these would repeat all notices once, as their stored text would no longer be found.
const (
	toldConfig   = "config"
	toldChannels = "channels"
	toldGaps     = "gaps"
	toldCosts    = "costs"
)

// notices tell the owner about mistakes in the config, and about jobs and watches that begin to cost money, each once.
type notices struct {
	kept      store.Notices
	problems  *configProblems
	models    *catalog.Models
	jobs      store.Jobs
	watches   store.Watches
	elsewhere func(avoid string) event.Address // where the owner is told
	hide      func(string) string              // takes secrets out
	log       *slog.Logger
}

// settle returns a function that keeps sent notices under a name, for packages that do not import the store.
func settle(kept store.Notices, name string) admin.Settle {
	return func(ctx context.Context, f func(string) (string, event.Address, string)) error {
		// The text and the notice are one commit: a crash neither loses a notice nor repeats it.
		return kept.Settle(ctx, name, func(known string) (string, store.Notice, error) {
			now, to, text := f(known)
			return now, store.Notice{To: to, Text: text}, nil
		})
	}
}

// tellProblems tells the owner about mistakes in the config. Each mistake is reported once until it is gone, also over restarts.
func (n notices) tellProblems(ctx context.Context) error {
	list := n.problems.list(false)
	for _, p := range list {
		n.log.Warn("config", "problem", p)
	}
	err := settle(n.kept, toldConfig)(ctx, func(known string) (now string, to event.Address, text string) {
		// known is the text of the last notice. Only lines that it does not have are news; a mistake that is gone is forgotten.
		now, news := admin.NewLines(known, list)
		if len(news) > 0 {
			text = "There is something wrong with the config:\n" + strings.Join(news, "\n") +
				"\nhob looks at it again when config.toml is written, or when it is started again; hob doctor says more."
		}
		return now, n.elsewhere(""), text
	})
	return errors.Join(err, n.tellCosts(ctx))
}

// mostCosts limits the jobs that one message about costs lists.
const mostCosts = 100

// noCosts is the stored state while runs cost nothing.
const noCosts = "free"

// tellCosts tells the owner which jobs and watches now cost money, once when a model with a price replaces one without.
func (n notices) tellCosts(ctx context.Context) error {
	lineup := n.models.Lineup()
	model := lineup.Chain.First().Info()
	if len(lineup.Faults) > 0 {
		return nil // the model that answers now is not the one that the owner meant
	}
	list, err := n.costly(ctx)
	if err != nil {
		return err
	}
	return settle(n.kept, toldCosts)(ctx, func(known string) (now string, to event.Address, text string) {
		// The state is kept as "free", so that the first model with a price is noticed.
		if model.Local {
			return noCosts, "", ""
		}
		if known == noCosts && len(list) > 0 {
			text = "These have cost nothing until now. From now on " + model.Name() + " is asked, and each run may cost money:\n" + n.hide(strings.Join(list, "\n")) +
				"\nA prompt 'say: TEXT' stays free. hob cron show NAME tells what a job may cost; hob cron pause NAME stops it."
		}
		return "", event.ToOwner, text
	})
}

// costly lists the jobs and watches whose runs ask a model; of very many jobs, those that run next.
func (n notices) costly(ctx context.Context) (list []string, err error) {
	jobs, err := n.jobs.JobRows(ctx, event.Filter{Limit: mostCosts})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	watches, err := n.watches.AllWatches(ctx)
	if err != nil {
		return nil, fmt.Errorf("list watches: %w", err)
	}
	// over: the trigger has no further slot.
	add := func(t scheduler.Trigger, over bool) {
		if !over && t.Name != scheduler.Heartbeat && event.AsksModel(t.Prompt, t.Plain) {
			list = append(list, t.Name+": "+event.Shorten(t.Prompt, 80))
		}
	}
	for _, j := range jobs {
		add(j.Trigger, j.Due.IsZero() && !j.Paused)
	}
	for _, w := range watches {
		add(w.Trigger, false)
	}
	return list, nil
}

// useModel makes the named model the first one, and tells the owner if jobs then begin to cost money.
func (n notices) useModel(ctx context.Context, name string) (string, error) {
	text, err := n.models.Use(ctx, name)
	// Without a name the command only shows the models.
	if err != nil || name == "" {
		return text, err
	}
	if err := n.tellCosts(ctx); err != nil {
		return "", err
	}
	return text, nil
}
