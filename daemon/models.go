package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"hob/config"
	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/builtin"
	"hob/daemon/llm/openai"
	"hob/scheduler"
)

// phrases reads times for the built-in interpreter, in the owner's zone.
type phrases struct{ *daemon }

// Prefix resolves the longest schedule that words begin with.
func (p phrases) Prefix(words string) (schedule, rest string, err error) {
	r, rest, err := scheduler.Prefix(words, p.zone(), p.clock.Wall())
	if err != nil && isNoSchedule(err) {
		return "", "", fmt.Errorf("%w: %w", builtin.ErrNoPhrase, err)
	}
	return r.Words, rest, err
}

// interpreter is the built-in model. why says why it answers although a model is set up, "" when none is.
func (d conf) interpreter(why string) llm.Model {
	return builtin.New(builtin.Options{Phrases: phrases(d), Owner: d.config().Owner.Name, Config: d.opt.config(), Why: why})
}

// lineup is the models that hob asks, in order, and what is wrong with those that cannot be asked.
type lineup struct {
	chain  *llm.Chain
	names  []string // of the chain's models: nameDefault, a [models.NAME], or backend/model
	faults []modelFault
}

// modelFault is a model that was to be asked and cannot be.
type modelFault struct {
	name string
	err  error
}

// nameDefault is the model of [model].
const nameDefault = "default"

// behind are the models that step in for one: those that it names, else those that [model] names. The interpreter needs none.
func behind(c *config.Snapshot, name string, section config.Model) []string {
	if section.Backend == backendBuiltin || section.Backend == "" {
		return nil
	}
	list := section.Fallback
	if len(list) == 0 {
		list = c.Model.Fallback
	}
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == name })
}

// lineup makes the chosen model and its fallbacks. Those that cannot be made are left out; when none is left, the interpreter
// serves.
func (d conf) lineup(ctx context.Context, c *config.Snapshot, chosen string) lineup {
	var l lineup
	first, section, err := pick(c, chosen)
	if err != nil {
		l.faults = append(l.faults, modelFault{chosen, err})
		first, section = nameDefault, c.Model
	}
	var models []llm.Model
	add := func(name string, section config.Model) {
		m, err := d.connect(ctx, name, section)
		if err != nil {
			l.faults = append(l.faults, modelFault{name, err})
			return
		}
		models, l.names = append(models, m), append(l.names, name)
	}
	add(first, section)
	for _, name := range behind(c, first, section) {
		add(name, c.Models[name])
	}
	if len(models) == 0 {
		why := "The model that is set up cannot be used"
		if len(l.faults) > 0 {
			why += ": " + l.faults[0].err.Error()
		}
		models, l.names = []llm.Model{d.interpreter(why + ". See: hob status")}, []string{backendBuiltin}
	}
	l.chain = llm.NewChain(models[0], models[1:]...)
	return l
}

// The backends that are not like the others.
const (
	backendBuiltin = "builtin" // the interpreter
	backendCodex   = "codex"   // an account instead of a key
)

// pick finds the section of a model by its name: nameDefault or "" is [model], NAME is [models.NAME], and backend/model is that model at
// that backend, with the address and the key of a section that has them.
func pick(c *config.Snapshot, name string) (string, config.Model, error) {
	if name == "" || name == nameDefault {
		return nameDefault, c.Model, nil
	}
	if m, ok := c.Models[name]; ok {
		return name, m, nil
	}
	if name == backendBuiltin {
		return name, config.Model{Backend: backendBuiltin}, nil
	}
	backend, model, _ := strings.Cut(name, "/")
	if !slices.Contains(openai.Backends(), backend) || model == "" {
		return "", config.Model{}, event.NewFault(event.Missing, "there are "+strings.Join(known(c), ", ")+", and backend/model, for example ollama/qwen3", "there is no model %q", name)
	}
	m := config.Model{Backend: backend}
	for _, s := range append([]config.Model{c.Model}, values(c.Models)...) {
		if s.Backend == backend {
			m = s
			break
		}
	}
	m.Model, m.Fallback, m.Price = model, nil, config.Price{}
	return name, m, nil
}

// values are a map's values in the order of its keys.
func values[V any](m map[string]V) []V {
	var list []V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

// connect makes the model of a section, with the key that it refers to.
func (d conf) connect(ctx context.Context, name string, m config.Model) (llm.Model, error) {
	key, err := d.key(ctx, name, m)
	if err != nil {
		return nil, err
	}
	return d.build(name, m, key, d.shelf)
}

// where is a model's section as the owner finds it.
func where(name string) string {
	if name == nameDefault {
		return "[model]"
	}
	return "[models." + name + "]"
}

// key resolves the key of a section, "" when it needs none.
func (d conf) key(ctx context.Context, name string, m config.Model) (string, error) {
	if m.APIKey == "" {
		return "", nil
	}
	key, err := d.resolve(ctx, strings.Trim(where(name), "[]")+".api_key", m.APIKey)
	if err != nil {
		return "", event.NewFault(event.Invalid, "api_key takes env:NAME, file:PATH or cmd:COMMAND", "%s api_key: %v", where(name), err)
	}
	return key, nil
}

// build makes the model of a section. Without a backend, the interpreter serves. It connects to nobody.
func (d conf) build(name string, m config.Model, key string, files llm.Files) (llm.Model, error) {
	switch {
	case m.Backend == backendBuiltin && name != nameDefault && name != backendBuiltin:
		return nil, event.NewFault(event.Invalid, "take it out of fallback: the interpreter always comes last by itself", "%s backend builtin is no model to fall back to", where(name))
	case m.Backend == "" && name == nameDefault:
		return d.interpreter(d.off("model")), nil
	case name == backendBuiltin:
		return d.interpreter("The built-in interpreter was chosen. To ask the model that is set up again: hob model use default"), nil
	case m.Backend == backendBuiltin:
		return d.interpreter(""), nil
	case !slices.Contains(openai.Backends(), m.Backend):
		return nil, event.NewFault(event.Invalid, "one of builtin, "+strings.Join(openai.Backends(), ", "), "%s backend %q is not known", where(name), m.Backend)
	}
	model, err := openai.New(openai.Config{
		Provider: m.Backend, Model: m.Model, BaseURL: m.BaseURL, APIKey: key, MaxOutput: m.MaxOutputTokens, Context: m.ContextTokens,
		Thinking: m.Thinking, Price: price(m.Price), First: m.FirstByteTimeout, Idle: m.IdleTimeout, Files: files, Auth: d.account.auth, Spoiled: d.account.Spoiled, Now: d.clock.Wall,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(name), err)
	}
	return model, nil
}

// useModel lets the named model be asked first from now on, until the owner names another one; nameDefault goes back to the
// config's, and "" only says which one it is.
func (d conf) useModel(ctx context.Context, name string) (string, error) {
	if name == "" {
		l := d.live.Load()
		text := "I ask " + l.chain.First().Info().Name() + "."
		for i, m := range l.chain.Models() {
			if r, ok := l.chain.Resting(m, d.clock.Wall()); ok {
				text += fmt.Sprintf("\n%s rests until %s: %s", l.names[i], d.local(r.Until), r.Fault)
			}
		}
		return text + "\nAlso known: " + strings.Join(known(d.config()), ", ") + "; /model NAME changes it.", nil
	}
	d.swap.Lock()
	defer d.swap.Unlock()
	c := d.config()
	label, section, err := pick(c, name)
	if err != nil {
		return "", err
	}
	if _, err := d.connect(ctx, label, section); err != nil {
		return "", err
	}
	if label == nameDefault {
		name = ""
	}
	if err := d.store.ChooseModel(ctx, name); err != nil {
		return "", fmt.Errorf("choose a model: %w", err)
	}
	next := *d.live.Load()
	next.lineup = d.lineup(ctx, c, name)
	d.live.Store(&next)
	text := "From now on I ask " + next.chain.First().Info().Name()
	if len(next.names) > 1 {
		text += "; if it does not answer, " + strings.Join(next.names[1:], ", ")
	}
	return text + ".", nil
}

// known are the names that a model can be chosen by.
func known(c *config.Snapshot) []string {
	return append([]string{nameDefault, backendBuiltin}, slices.Sorted(maps.Keys(c.Models))...)
}

// off says that a section is switched off by a mistake, "" when it is not.
func (d conf) off(section string) string {
	if !d.config().Off(section) {
		return ""
	}
	return "[" + section + "] is switched off by a mistake in " + d.opt.config() + ". See: hob config validate"
}

// price turns the config's price of a million tokens into millionths.
func price(p config.Price) llm.Price {
	return llm.Price{Input: micros(p.Input), Cached: micros(p.Cached), Output: micros(p.Output)}
}

func micros(amount float64) int64 { return int64(math.Round(amount * 1e6)) }

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
		text = fmt.Sprintf("%s stepped in for %s, which is asked again later: %s.", to, from, shorten(s.Cause.Error(), 500))
	}
	return event.Out{Key: "notice:" + key, Cause: event.Cause{Kind: event.ByNotice, ID: d.store.Epoch()}, To: event.ToOwner, Body: text, Urgency: event.Urgent}
}
