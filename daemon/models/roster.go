package models

import (
	"context"
	"fmt"
	"os"
	"slices"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/llm/openai"
	"hob/daemon/sys"
)

// Roster is the models that the config knows.
type Roster struct {
	Chosen string `json:"chosen"` // the owner's choice instead of [model], "" when there is none
	Models []Row  `json:"models"` // those that are asked first, in their order
}

// Row is one model of the roster.
type Row struct {
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

// Server is a server and the models that it has.
type Server struct {
	Backend string          `json:"backend"`
	BaseURL string          `json:"base_url"`
	Names   []string        `json:"names"` // of the roster's models that it serves; none: it was found on this machine
	Models  []catalog.Entry `json:"models"`
	Error   string          `json:"error,omitempty"`
	Hint    string          `json:"hint,omitempty"`
}

// Roster is what can be told of the models without asking anybody.
func (k Maker) Roster(l Lineup, chosen string) Roster {
	c := k.Config()
	r := Roster{Chosen: chosen}
	for i, name := range l.Names {
		row := k.row(c, name)
		row.Order = i + 1
		if rest, ok := l.Chain.Resting(l.Chain.Models()[i], k.Now()); ok {
			row.Resting = &rest
		}
		r.Models = append(r.Models, row)
	}
	for _, name := range Known(c) {
		if name == Builtin || name == Default && c.Model.Backend == "" || slices.Contains(l.Names, name) {
			continue
		}
		row := k.row(c, name)
		if i := slices.IndexFunc(l.Faults, func(f Fault) bool { return f.Name == name }); i >= 0 {
			row.Fault = l.Faults[i].Err.Error()
		}
		r.Models = append(r.Models, row)
	}
	return r
}

// row shows a model as its section says, without resolving its key.
func (k Maker) row(c *config.Snapshot, name string) Row {
	row := Row{Name: name}
	_, section, err := Pick(c, name)
	if err == nil {
		row.Backend, row.Model, row.BaseURL = section.Backend, section.Model, baseURL(section)
		var m llm.Model
		if m, err = k.Build(name, section, "", nil, k.Files); err == nil {
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

// Servers asks every server of the config and of these models, and every one that is found on this machine, what models it has.
func (k Maker) Servers(ctx context.Context, names []string) ([]Server, error) {
	rows := k.configured(names)
	found := make(chan []catalog.Found, 1)
	g := sys.NewGroup(k.Log, nil)
	g.Once("look for model servers", func() error {
		found <- catalog.Discover(ctx, catalog.Probe{Env: os.Getenv, Log: k.Log})
		return nil
	})
	for i := range rows {
		g.Once("list models", func() error {
			k.list(ctx, &rows[i])
			return nil
		})
	}
	g.Wait()
	for _, f := range <-found {
		if !slices.ContainsFunc(rows, func(r Server) bool { return r.BaseURL == f.BaseURL }) {
			rows = append(rows, Server{Backend: f.Backend, BaseURL: f.BaseURL, Names: []string{}, Models: f.Models})
		}
	}
	return rows, ctx.Err()
}

// configured are the servers of the config and of the models that are asked, each once.
func (k Maker) configured(asked []string) []Server {
	rows := []Server{}
	c := k.Config()
	names := Known(c)
	for _, name := range asked {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		_, section, err := Pick(c, name)
		if err != nil || section.Backend == "" || section.Backend == Builtin {
			continue
		}
		url := baseURL(section)
		i := slices.IndexFunc(rows, func(r Server) bool { return r.BaseURL == url && r.Backend == section.Backend })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Server{Backend: section.Backend, BaseURL: url})
		}
		rows[i].Names = append(rows[i].Names, name)
	}
	return rows
}

// list fills in what a server has, or why it does not say so.
func (k Maker) list(ctx context.Context, row *Server) {
	_, section, err := Pick(k.Config(), row.Names[0])
	server := catalog.Server{Backend: row.Backend, BaseURL: row.BaseURL}
	if row.Backend == Codex {
		server.Auth = k.Credentials
	}
	if err == nil {
		server.APIKey, err = k.Key(ctx, row.Names[0], section)
	}
	if err == nil {
		server.HTTP, err = k.web(ctx, row.Names[0], section)
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

// Suggest adds to the report of a model that is not there what the server has instead.
func (k Maker) Suggest(ctx context.Context, label string, section config.Model, report *catalog.Report) {
	row := Server{Backend: section.Backend, BaseURL: baseURL(section), Names: []string{label}}
	k.list(ctx, &row)
	if near := catalog.Nearest(section.Model, row.Models); len(near) > 0 {
		report.Text.Error += fmt.Sprintf("; did you mean %q?", near[0])
	}
}
