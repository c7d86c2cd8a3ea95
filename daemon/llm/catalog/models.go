package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// Choice keeps the name of the model that the owner has chosen, "" for the one of the config.
type Choice interface {
	ChosenModel(ctx context.Context) (string, error)
	ChooseModel(ctx context.Context, name string) error
}

// Models holds the models in use: the lineup of the present config, with the owner's choice first. It is safe for concurrent use.
type Models struct {
	ModelsConfig
	making  sync.Mutex // held while a new lineup is made
	lineup  atomic.Pointer[Lineup]
	renewed chan struct{} // a new lineup is in use
}

// ModelsConfig is what Models works with. All fields are needed.
type ModelsConfig struct {
	Registry Registry
	Choice   Choice
	Reserve  Reserve                // books the cost of a trial
	Local    func(time.Time) string // an instant in the owner's zone
	Clock    sys.Clock
}

// NewModels returns Models with the interpreter alone. Renew adds the models of the config.
func NewModels(c ModelsConfig) *Models {
	m := &Models{ModelsConfig: c, renewed: make(chan struct{}, 1)}
	m.lineup.Store(&Lineup{Chain: llm.NewChain(c.Registry.Interpreter("", false)), Names: []string{Builtin}})
	return m
}

// Lineup returns the models in use.
func (m *Models) Lineup() Lineup { return *m.lineup.Load() }

// Chain returns the models in the order in which hob asks them.
func (m *Models) Chain() *llm.Chain { return m.Lineup().Chain }

// First describes the model that hob asks first.
func (m *Models) First() llm.Info { return m.Chain().First().Info() }

// Named returns the chain of a model by its name, for a sub-agent.
func (m *Models) Named(ctx context.Context, name string) *llm.Chain {
	return m.Registry.Lineup(ctx, m.Registry.Config(), name).Chain
}

// Check checks the name of a model.
func (m *Models) Check(name string) error {
	_, _, err := m.Registry.Pick(m.Registry.Config(), name)
	return err
}

// Wake ends the cool-down of models, so that they are asked again.
func (m *Models) Wake(which func(llm.Info) bool) { m.Chain().Wake(which) }

// Renew puts the models of the config into use.
func (m *Models) Renew(ctx context.Context) error {
	m.making.Lock()
	defer m.making.Unlock()
	chosen, err := m.Choice.ChosenModel(ctx)
	if err != nil {
		return fmt.Errorf("read the chosen model: %w", err)
	}
	next := m.Registry.Lineup(ctx, m.Registry.Config(), chosen)
	for _, fault := range next.Faults {
		m.Registry.Log.Error("a model of the config cannot be used", "err", fault.Err, "first", next.Chain.First().Info().Name())
	}
	m.use(next)
	return nil
}

// use puts a lineup into use.
func (m *Models) use(next Lineup) {
	m.lineup.Store(&next)
	select {
	case m.renewed <- struct{}{}:
	default: // Run has not seen the one before yet
	}
}

// Use makes the named model the first one until the owner names another. Default returns to the config's model. The text tells people which
// model is asked now; with the name "" Use changes nothing.
func (m *Models) Use(ctx context.Context, name string) (text string, err error) {
	if name == "" {
		return m.inUse(), nil
	}
	m.making.Lock()
	defer m.making.Unlock()
	c := m.Registry.Config()
	label, section, err := m.Registry.Pick(c, name)
	if err != nil {
		return "", err
	}
	// A model that cannot be created is not chosen: its error goes to the owner, and the lineup stays as it is.
	if _, err := m.Registry.Connect(ctx, label, section); err != nil {
		return "", err
	}
	// An empty choice means [model], even if the config later names another model there.
	if label == Default {
		name = ""
	}
	if err := m.Choice.ChooseModel(ctx, name); err != nil {
		return "", fmt.Errorf("choose a model: %w", err)
	}
	// The choice is stored before it is used, so a restart asks the same model.
	next := m.Registry.Lineup(ctx, c, name)
	m.use(next)
	text = "From now on I ask " + next.Chain.First().Info().Name()
	if len(next.Names) > 1 {
		text += "; if it does not answer, " + strings.Join(next.Names[1:], ", ")
	}
	return text + "." + m.Registry.keyless(label, section), nil
}

// keyless warns about a model of a service that takes a key, when its section has none; "" for the others. Another address may need no key.
func (r Registry) keyless(label string, section config.Model) string {
	b, _ := r.backend(section.Backend)
	if b.KeyName == "" || section.APIKey != "" || section.BaseURL != "" {
		return ""
	}
	if strings.Contains(label, "/") {
		return fmt.Sprintf(" It has no key yet; set one with: hob setup --model %s --api-key env:%s", label, b.KeyName)
	}
	return fmt.Sprintf(" It has no key yet; set one in %s: api_key = \"env:%s\"", where(label), b.KeyName)
}

// inUse describes the model that is asked, the models in cool-down, and the others.
func (m *Models) inUse() string {
	l := m.Lineup()
	text := "I ask " + l.Chain.First().Info().Name() + "."
	for i, model := range l.Chain.Models() {
		if r, ok := l.Chain.Resting(model, m.Clock.Wall()); ok {
			text += fmt.Sprintf("\n%s rests until %s: %s", l.Names[i], m.Local(r.Until), r.Fault)
		}
	}
	return text + "\nAlso known: " + strings.Join(Known(m.Registry.Config()), ", ") + "; /model NAME changes it."
}

// Roster lists the models of the config. It makes no request.
func (m *Models) Roster(ctx context.Context) (Roster, error) {
	chosen, err := m.Choice.ChosenModel(ctx)
	if err != nil {
		return Roster{}, err
	}
	return m.Registry.Roster(m.Lineup(), chosen), nil
}

// Described describes one model, and what refusals of its server have taught. First names the model that is asked first.
func (m *Models) Described(ctx context.Context, name string) (Row, []string, error) {
	if name == First {
		name = m.Lineup().Names[0]
	}
	label, section, err := m.Registry.Pick(m.Registry.Config(), name)
	if err != nil {
		return Row{}, nil, err
	}
	list, err := m.Roster(ctx)
	row := m.Registry.row(m.Registry.Config(), label)
	if i := slices.IndexFunc(list.Models, func(r Row) bool { return r.Name == label }); i >= 0 {
		row = list.Models[i]
	}
	return row, m.Registry.learned(section).Lines(), err
}

// Servers asks for the models of every server of the roster and of every server that is found on this machine.
func (m *Models) Servers(ctx context.Context) ([]Server, error) {
	return m.Registry.Servers(ctx, m.Lineup().Names)
}

// trialTime is how long a trial may take: a large local model is loaded first.
const trialTime = 5 * time.Minute

// Try runs a trial of a model, notes its result, and ends its cool-down if it answers. The cost counts against the budget like any other, so the budget may
// prevent the trial.
func (m *Models) Try(ctx context.Context, name string) (Report, error) {
	c := m.Registry.Config()
	if name == First {
		name = m.Lineup().Names[0]
	}
	label, section, err := m.Registry.Pick(c, name)
	if err != nil {
		return Report{}, err
	}
	if section.Backend == "" || section.Backend == Builtin {
		return Report{}, event.NewFault(event.Invalid, "name a model, for example: hob model test ollama/qwen3; hob setup connects one", "the built-in interpreter is no model to test")
	}
	key, err := m.Registry.Key(ctx, label, section)
	if err != nil {
		return Report{}, err
	}
	web, err := m.Registry.web(ctx, label, section)
	if err != nil {
		return Report{}, err
	}
	// Trial brings its own files, so it creates the model; key and client are ready before.
	open := func(files llm.Files) (llm.Model, error) {
		model, err := m.Registry.Build(label, section, key, web, files)
		return metered{model, m.Reserve}, err
	}
	ctx, stop := context.WithTimeout(ctx, trialTime)
	defer stop()
	report := Trial(ctx, open, m.Clock)
	report.Learned = m.Registry.learned(section).Lines()
	if report.Text.Outcome == Yes || report.Text.Outcome == Failed && report.Text.Fault != llm.OverBudget {
		m.Chain().Tried(func(i llm.Info) bool { return i.Provider == report.Provider && i.Model == report.Model }, report.Text.Error)
	}
	// A wrong name is the usual mistake here, so the server's list is searched for a similar one.
	if report.Text.Fault == llm.NotFound {
		m.Registry.Suggest(ctx, label, section, &report)
	}
	return report, nil
}
