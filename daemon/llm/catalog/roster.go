package catalog

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// Roster lists the models of the config.
type Roster struct {
	Chosen string `json:"chosen"` // the owner's choice in place of [model]; "" without one
	Models []Row  `json:"models"` // the models that are asked, in their order; then the others
}

// Row is one model of the roster.
type Row struct {
	Name      string    `json:"name"`  // default, a [models.NAME], or backend/model
	Order     int       `json:"order"` // 1 is asked first; 0 is known but not asked
	Backend   string    `json:"backend"`
	Model     string    `json:"model"`
	BaseURL   string    `json:"base_url,omitempty"`
	Local     bool      `json:"local"` // it is free of charge
	Context   int       `json:"context_tokens"`
	MaxOutput int       `json:"max_output_tokens"`
	Few       bool      `json:"few_tools,omitempty"`  // requests describe few tools
	Price     llm.Price `json:"price,omitzero"`       // in millionths, per million tokens
	Bills     bool      `json:"bills,omitempty"`      // its answers say what they cost, or cost nothing but a subscription
	State     State     `json:"state,omitempty"`      // of a model that is asked, since the config was read
	LastError string    `json:"last_error,omitempty"` // why it is failing
	Resting   *llm.Rest `json:"resting,omitempty"`
	Fault     string    `json:"fault,omitempty"` // why it cannot be used
}

// State is what became of the last request to a model.
type State string

// States of a model.
const (
	NotTried State = "not tried" // nothing was asked yet
	Ready    State = "ready"     // it has answered
	Failing  State = "failing"   // it has not
)

// Server is a model server with its models.
type Server struct {
	Backend string      `json:"backend"`
	BaseURL string      `json:"base_url"`
	Names   []string    `json:"names"` // the roster's models at this server; none: it was found on this machine
	Models  []llm.Entry `json:"models"`
	Error   string      `json:"error,omitempty"`
	Hint    string      `json:"hint,omitempty"`
}

// Roster describes the models without any request: first those of the lineup, then the other known ones.
func (r Registry) Roster(l Lineup, chosen string) Roster {
	c := r.Config()
	list := Roster{Chosen: chosen}
	for i, name := range l.Names {
		row := r.row(c, name)
		row.Order = i + 1
		model := l.Chain.Models()[i]
		row.LastError, row.State = stateOf(l.Chain, model)
		if rest, ok := l.Chain.Resting(model, r.Now()); ok {
			row.Resting = &rest
		}
		list.Models = append(list.Models, row)
	}
	// The rest is known but not asked. The interpreter is no model to list, nor is an empty [model].
	for _, name := range Known(c) {
		if name == Builtin || name == Default && c.Model.Backend == "" || slices.Contains(l.Names, name) {
			continue
		}
		row := r.row(c, name)
		if i := slices.IndexFunc(l.Faults, func(f Fault) bool { return f.Name == name }); i >= 0 {
			row.Fault = l.Faults[i].Err.Error()
		}
		list.Models = append(list.Models, row)
	}
	return list
}

// stateOf returns the state of a model, and why it is failing. The interpreter needs no server, so it is always ready.
func stateOf(c *llm.Chain, m llm.Model) (fault string, s State) {
	fault, tried := c.Last(m)
	switch {
	case fault != "":
		return fault, Failing
	case tried || m.Info().Interpreter:
		return "", Ready
	default:
		return "", NotTried
	}
}

// row describes a model by its section, without resolving its key.
func (r Registry) row(c *config.Snapshot, name string) Row {
	row := Row{Name: name}
	_, section, err := r.Pick(c, name)
	if err == nil {
		row.Backend, row.Model, row.BaseURL = section.Backend, section.Model, r.baseURL(section)
		b, _ := r.backend(section.Backend) // Build names one that is unknown
		row.Bills = b.Bills
		// Build needs neither key nor client here, because only the model's description is read.
		var m llm.Model
		if m, err = r.Build(name, section, "", nil, r.Files); err == nil {
			info := m.Info()
			row.Backend, row.Model, row.Local, row.Context, row.MaxOutput, row.Few, row.Price = info.Provider, info.Model, info.Local, info.Context, info.MaxOutput, info.Few, info.Price
		}
	}
	if err != nil {
		row.Fault = err.Error()
	}
	return row
}

// baseURL returns the address that requests of a section go to; "" if neither the section nor the backend has one.
func (r Registry) baseURL(m config.Model) string {
	b, _ := r.backend(m.Backend)
	return cmp.Or(m.BaseURL, b.BaseURL)
}

// answerTime is how long a server may take for its list. It is less than the 5 s of a check of hob doctor, so that doctor can name the server.
const answerTime = 4 * time.Second

// Servers asks all servers for their models, at the same time: the servers of the config and of names, and those found on this machine.
// A server that takes longer than 4 s gets an error in its row.
func (r Registry) Servers(ctx context.Context, names []string) ([]Server, error) {
	limited, stop := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("the server took longer than %s", answerTime))
	defer stop()
	rows := r.configured(names)
	// The search of this machine and the lists run together. Each goroutine writes only its own row.
	found := make(chan []llm.Found, 1)
	g := sys.NewGroup(r.Log, nil)
	g.Once("look for model servers", func() error {
		var all []llm.Found
		for _, b := range r.Backends {
			if b.Discover != nil {
				all = append(all, b.Discover(ctx, os.Getenv, r.Log)...)
			}
		}
		found <- all
		return nil
	})
	for i := range rows {
		g.Once("list models", func() error {
			r.list(limited, &rows[i])
			return nil
		})
	}
	g.Wait()
	// A server that the config also names keeps the row of the config.
	for _, f := range <-found {
		if !slices.ContainsFunc(rows, func(r Server) bool { return r.BaseURL == f.BaseURL }) {
			rows = append(rows, Server{Backend: f.Backend, BaseURL: f.BaseURL, Names: []string{}, Models: f.Models})
		}
	}
	return rows, ctx.Err()
}

// configured returns the servers of the config and of the given models, without duplicates.
func (r Registry) configured(asked []string) []Server {
	rows := []Server{}
	c := r.Config()
	names := Known(c)
	for _, name := range asked {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		_, section, err := r.Pick(c, name)
		if err != nil || section.Backend == "" || section.Backend == Builtin {
			continue
		}
		// Several models of one server share a row, so that the server is asked once.
		url := r.baseURL(section)
		i := slices.IndexFunc(rows, func(r Server) bool { return r.BaseURL == url && r.Backend == section.Backend })
		if i < 0 {
			i = len(rows)
			rows = append(rows, Server{Backend: section.Backend, BaseURL: url})
		}
		rows[i].Names = append(rows[i].Names, name)
	}
	return rows
}

// list fills in the models of a server, or the error.
func (r Registry) list(ctx context.Context, row *Server) {
	_, section, err := r.Pick(r.Config(), row.Names[0])
	server := llm.Config{Provider: row.Backend, BaseURL: row.BaseURL, Watch: r.watch(row.Names[0])}
	b, known := r.backend(row.Backend)
	// Each step runs only if those before it succeeded, so the row reports the first error.
	if err == nil && !known {
		err = fmt.Errorf("the backend %q is not known", row.Backend)
	}
	if b.Account {
		server.Auth = r.Auth
	}
	if err == nil {
		server.APIKey, err = r.Key(ctx, row.Names[0], section)
	}
	if err == nil {
		server.HTTP, err = r.web(ctx, row.Names[0], section)
	}
	if err == nil {
		if row.Models, err = b.List(ctx, server); err == nil {
			return
		}
	}
	row.Models = []llm.Entry{}
	row.Error = err.Error()
	if f, ok := event.AsFault(err); ok {
		row.Error, row.Hint = f.Text, f.Hint
	}
}

// Suggest adds to a report about an unknown model the nearest name that the server has.
func (r Registry) Suggest(ctx context.Context, label string, section config.Model, report *Report) {
	row := Server{Backend: section.Backend, BaseURL: r.baseURL(section), Names: []string{label}}
	r.list(ctx, &row)
	if near := Nearest(section.Model, row.Models); len(near) > 0 {
		report.Text.Error += fmt.Sprintf("; did you mean %q?", near[0])
	}
}
