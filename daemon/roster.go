package daemon

import (
	"context"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
)

// roster answers what hob knows about models.
type roster struct{ *daemon }

// show is the roster, without asking anybody.
func (d roster) show(ctx context.Context) (api.Roster, error) {
	chosen, err := d.store.Commands.ChosenModel(ctx)
	if err != nil {
		return api.Roster{}, err
	}
	return conf(d).registry().Roster(d.live.Load().Lineup, chosen), nil
}

// servers asks every server of the roster, and every one that is found on this machine, what models it has.
func (d roster) servers(ctx context.Context) ([]api.ModelServer, error) {
	return conf(d).registry().Servers(ctx, d.live.Load().Names)
}

// hears asks the endpoint of [voice] whether it would listen to voice notes.
func (d roster) hears(ctx context.Context) api.Transcription {
	s := d.ears().Look(ctx)
	s.BaseURL, s.Error = d.secrets.Text(s.BaseURL), d.secrets.Text(s.Error)
	return api.Transcription(s)
}

// try puts a model to a small trial. It is paid for like everything else: the budget may stop it.
func (d roster) try(ctx context.Context, name string) (catalog.Report, error) {
	c, registry := d.config(), conf(d).registry()
	if name == catalog.First {
		name = d.live.Load().Names[0]
	}
	label, section, err := registry.Pick(c, name)
	if err != nil {
		return catalog.Report{}, err
	}
	if section.Backend == "" || section.Backend == catalog.Builtin {
		return catalog.Report{}, event.NewFault(event.Invalid, "name a model, for example: hob model test ollama/qwen3", "the built-in interpreter is no model to test")
	}
	key, err := registry.Key(ctx, label, section)
	if err != nil {
		return catalog.Report{}, err
	}
	web, err := registry.Web(ctx, label, section.Proxy)
	if err != nil {
		return catalog.Report{}, event.NewFault(event.Invalid, "none, or an address like http://proxy.example.org:3128", "proxy: %v", err)
	}
	open := func(files llm.Files) (llm.Model, error) {
		m, err := registry.Build(label, section, key, web, files)
		return metered{m, d.store}, err
	}
	ctx, stop := context.WithTimeout(ctx, trialTime)
	defer stop()
	report := catalog.Trial(ctx, open, d.clock)
	if report.Text.Outcome == catalog.Yes {
		d.chain().Wake(func(i llm.Info) bool { return i.Provider == report.Provider && i.Model == report.Model })
	}
	if report.Text.Fault == llm.NotFound {
		registry.Suggest(ctx, label, section, &report)
	}
	return report, nil
}

// trialTime is how long a trial may take: a large local model is loaded first.
const trialTime = 5 * time.Minute
