package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/llm/openai"
	"hob/daemon/spawn"
)

// Roster is the models that the config knows.
type Roster struct {
	Chosen string     `json:"chosen"` // the owner's choice instead of [model], "" when there is none
	Models []ModelRow `json:"models"` // those that are asked first, in their order
}

// ModelRow is one model of the roster.
type ModelRow struct {
	Name      string    `json:"name"`  // default, a [models.NAME], or backend/model
	Order     int       `json:"order"` // 1 is asked first; 0 is not asked, but known
	Backend   string    `json:"backend"`
	Model     string    `json:"model"`
	BaseURL   string    `json:"base_url,omitempty"`
	Local     bool      `json:"local"` // it costs nothing
	Context   int       `json:"context_tokens"`
	MaxOutput int       `json:"max_output_tokens"`
	Price     llm.Price `json:"price,omitzero"` // in millionths, for a million tokens
	Resting   *llm.Rest `json:"resting,omitempty"`
	Fault     string    `json:"fault,omitempty"` // why it cannot be asked
}

// ServerRow is a server and the models that it has.
type ServerRow struct {
	Backend string          `json:"backend"`
	BaseURL string          `json:"base_url"`
	Names   []string        `json:"names"` // of the roster's models that it serves; none: it was found on this machine
	Models  []catalog.Entry `json:"models"`
	Error   string          `json:"error,omitempty"`
	Hint    string          `json:"hint,omitempty"`
}

// roster answers what hob knows about models.
type roster struct{ *daemon }

// show is the roster, without asking anybody.
func (d roster) show(ctx context.Context) (Roster, error) {
	chosen, err := d.store.ChosenModel(ctx)
	if err != nil {
		return Roster{}, err
	}
	c, l := d.config(), d.live.Load()
	r := Roster{Chosen: chosen}
	for i, name := range l.names {
		row := d.row(c, name)
		row.Order = i + 1
		if rest, ok := l.chain.Resting(l.chain.Models()[i], d.clock.Wall()); ok {
			row.Resting = &rest
		}
		r.Models = append(r.Models, row)
	}
	for _, name := range known(c) {
		if name == backendBuiltin || name == nameDefault && c.Model.Backend == "" || slices.Contains(l.names, name) {
			continue
		}
		row := d.row(c, name)
		if i := slices.IndexFunc(l.faults, func(f modelFault) bool { return f.name == name }); i >= 0 {
			row.Fault = l.faults[i].err.Error()
		}
		r.Models = append(r.Models, row)
	}
	return r, nil
}

// row shows a model as its section says, without resolving its key.
func (d roster) row(c *config.Snapshot, name string) ModelRow {
	row := ModelRow{Name: name}
	_, section, err := pick(c, name)
	if err == nil {
		row.Backend, row.Model, row.BaseURL = section.Backend, section.Model, baseURL(section)
		var m llm.Model
		if m, err = conf(d).build(name, section, "", d.shelf); err == nil {
			info := m.Info()
			row.Backend, row.Model, row.Local, row.Context, row.MaxOutput, row.Price = info.Provider, info.Model, info.Local, info.Context, info.MaxOutput, info.Price
		}
	}
	if err != nil {
		row.Fault = err.Error()
	}
	return row
}

func baseURL(m config.Model) string {
	if m.BaseURL != "" {
		return m.BaseURL
	}
	return openai.DefaultBaseURL(m.Backend)
}

// servers asks every server of the roster, and every one that is found on this machine, what models it has.
func (d roster) servers(ctx context.Context) ([]ServerRow, error) {
	rows := d.configured()
	found := make(chan []catalog.Found, 1)
	g := spawn.New(d.log, nil)
	g.Once("look for model servers", func() error {
		found <- catalog.Discover(ctx, catalog.Probe{Env: os.Getenv, Log: d.log})
		return nil
	})
	for i := range rows {
		g.Once("list models", func() error {
			d.list(ctx, &rows[i])
			return nil
		})
	}
	g.Wait()
	for _, f := range <-found {
		if !slices.ContainsFunc(rows, func(r ServerRow) bool { return r.BaseURL == f.BaseURL }) {
			rows = append(rows, ServerRow{Backend: f.Backend, BaseURL: f.BaseURL, Names: []string{}, Models: f.Models})
		}
	}
	return rows, ctx.Err()
}

// configured are the servers of the roster, each once.
func (d roster) configured() []ServerRow {
	rows := []ServerRow{}
	c := d.config()
	names := known(c)
	for _, name := range d.live.Load().names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		_, section, err := pick(c, name)
		if err != nil || section.Backend == "" || section.Backend == backendBuiltin {
			continue
		}
		url := baseURL(section)
		i := slices.IndexFunc(rows, func(r ServerRow) bool { return r.BaseURL == url && r.Backend == section.Backend })
		if i < 0 {
			i = len(rows)
			rows = append(rows, ServerRow{Backend: section.Backend, BaseURL: url})
		}
		rows[i].Names = append(rows[i].Names, name)
	}
	return rows
}

// list fills in what a server has, or why it does not say so.
func (d roster) list(ctx context.Context, row *ServerRow) {
	_, section, err := pick(d.config(), row.Names[0])
	server := catalog.Server{Backend: row.Backend, BaseURL: row.BaseURL}
	if row.Backend == backendCodex {
		server.Auth = d.account.Credentials
	}
	if err == nil {
		server.APIKey, err = conf(d).key(ctx, row.Names[0], section)
	}
	if err == nil {
		if row.Models, err = catalog.List(ctx, server); err == nil {
			return
		}
	}
	row.Models = []catalog.Entry{}
	row.Error = err.Error()
	if f, ok := event.AsFault(err); ok {
		row.Error, row.Hint = f.Text, f.Hint
	}
}

// try puts a model to a small trial. It is paid for like everything else: the budget may stop it.
func (d roster) try(ctx context.Context, name string) (catalog.Report, error) {
	c := d.config()
	if name == nameFirst {
		name = d.live.Load().names[0]
	}
	label, section, err := pick(c, name)
	if err != nil {
		return catalog.Report{}, err
	}
	if section.Backend == "" || section.Backend == backendBuiltin {
		return catalog.Report{}, event.NewFault(event.Invalid, "name a model, for example: hob model test ollama/qwen3", "the built-in interpreter is no model to test")
	}
	key, err := conf(d).key(ctx, label, section)
	if err != nil {
		return catalog.Report{}, err
	}
	open := func(files llm.Files) (llm.Model, error) {
		m, err := conf(d).build(label, section, key, files)
		return metered{m, d.store}, err
	}
	ctx, stop := context.WithTimeout(ctx, trialTime)
	defer stop()
	report := catalog.Trial(ctx, open, d.clock)
	if report.Text.Outcome == catalog.Yes {
		d.models().Wake(func(i llm.Info) bool { return i.Provider == report.Provider && i.Model == report.Model })
	}
	if report.Text.Fault == llm.NotFound {
		d.suggest(ctx, label, section, &report)
	}
	return report, nil
}

// trialTime is how long a trial may take: a large local model is loaded first.
const trialTime = 5 * time.Minute

// nameFirst stands for the model that is asked first.
const nameFirst = "first"

// suggest adds to a model that is not there what the server has instead.
func (d roster) suggest(ctx context.Context, label string, section config.Model, report *catalog.Report) {
	row := ServerRow{Backend: section.Backend, BaseURL: baseURL(section), Names: []string{label}}
	d.list(ctx, &row)
	if near := catalog.Nearest(section.Model, row.Models); len(near) > 0 {
		report.Text.Error += fmt.Sprintf("; did you mean %q?", near[0])
	}
}
