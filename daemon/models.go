package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/llm/builtin"
	"hob/daemon/llm/catalog"
	"hob/scheduler/phrase"
)

// phrases reads times for the built-in interpreter, in the owner's zone.
type phrases struct{ *daemon }

// Prefix resolves the longest schedule that words begin with.
func (p phrases) Prefix(words string) (schedule, rest string, err error) {
	r, rest, err := phrase.Prefix(words, p.zone(), p.clock.Wall())
	if err != nil && isNoSchedule(err) {
		return "", "", fmt.Errorf("%w: %w", builtin.ErrNoPhrase, err)
	}
	return r.Words, rest, err
}

// interpreter is the built-in model. why says why it answers although a model is set up, "" when none is.
func (d conf) interpreter(why string) llm.Model {
	return builtin.New(builtin.Options{Phrases: phrases(d), Owner: d.config().Owner.Name, Config: d.opt.config(), Why: why})
}

// registry makes the models of the config.
func (d conf) registry() catalog.Registry {
	return catalog.Registry{
		Backends: all.All(), Config: d.config, Resolve: d.resolve, Web: d.web, Interpreter: d.interpreter, Files: d.shelf,
		Auth: d.account.auth, Spoiled: d.account.Spoiled, Path: d.opt.config(), Now: d.clock.Wall, Log: d.log,
	}
}

// useModel lets the named model be asked first from now on, until the owner names another one; catalog.Default goes back to the
// config's, and "" only says which one it is.
func (d conf) useModel(ctx context.Context, name string) (string, error) {
	if name == "" {
		l := d.live.Load()
		text := "I ask " + l.Chain.First().Info().Name() + "."
		for i, m := range l.Chain.Models() {
			if r, ok := l.Chain.Resting(m, d.clock.Wall()); ok {
				text += fmt.Sprintf("\n%s rests until %s: %s", l.Names[i], d.local(r.Until), r.Fault)
			}
		}
		return text + "\nAlso known: " + strings.Join(catalog.Known(d.config()), ", ") + "; /model NAME changes it.", nil
	}
	d.swap.Lock()
	defer d.swap.Unlock()
	c := d.config()
	label, section, err := d.registry().Pick(c, name)
	if err != nil {
		return "", err
	}
	if _, err := d.registry().Connect(ctx, label, section); err != nil {
		return "", err
	}
	if label == catalog.Default {
		name = ""
	}
	if err := d.store.Commands.ChooseModel(ctx, name); err != nil {
		return "", fmt.Errorf("choose a model: %w", err)
	}
	next := *d.live.Load()
	next.Lineup = d.registry().Lineup(ctx, c, name)
	d.live.Store(&next)
	if err := notices(d).tellCosts(ctx); err != nil {
		return "", err
	}
	text := "From now on I ask " + next.Chain.First().Info().Name()
	if len(next.Names) > 1 {
		text += "; if it does not answer, " + strings.Join(next.Names[1:], ", ")
	}
	return text + ".", nil
}

// switched is what the owner is told when another model has answered: once a day for the same reason, and once for a conversation
// that has become too long.
func (d conf) switched(s agent.Switch) event.Out {
	day := d.clock.Wall().In(d.zone()).Format(time.DateOnly)
	from, to := s.From.Name(), s.To.Name()
	key, text := "", ""
	switch fault := llm.FaultOf(s.Cause); {
	case errors.Is(s.Cause, turn.ErrBudget):
		key = fmt.Sprintf("model:%s:budget:%s", from, day)
		text = fmt.Sprintf("Today's budget does not allow %s any more; %s goes on. To raise it: hob budget set --per-day AMOUNT or --tokens-per-day N", from, to)
	case fault == llm.TooLarge:
		key = fmt.Sprintf("model:%s:%s:%s", from, fault, s.Session)
		text = fmt.Sprintf("The conversation is too long for %s: %s answers from now on (/new begins a new one).", from, to)
	default:
		key = fmt.Sprintf("model:%s:%s:%s", from, fault, day)
		text = fmt.Sprintf("%s stepped in for %s, which is asked again later: %s.", to, from, event.Shorten(s.Cause.Error(), 500))
	}
	return event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: d.store.Epoch()}, To: event.ToOwner, Body: text, Urgency: event.Urgent}
}
