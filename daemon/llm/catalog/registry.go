// Package catalog knows the available models. It creates the models of the config's sections in the order in which they are asked
// (registry.go), lists the models of all servers (roster.go), suggests a name for an unknown one (nearest.go), and tests a model
// (trial.go). It stores nothing, and decides nothing during a request: llm.Chain does.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// The model names that are not sections of [models].
const (
	Default = "default" // [model]
	Builtin = "builtin" // the interpreter, which is also a backend
	First   = "first"   // the model that is asked first
)

// Registry creates the models of the config's sections. All fields are required and never change.
type Registry struct {
	Backends    []llm.Backend
	Config      func() *config.Snapshot
	Resolve     func(ctx context.Context, name, ref string) (string, error)            // returns the value of a secret reference
	Web         func(ctx context.Context, section, proxy string) (*http.Client, error) // returns the client for a section, with its proxy or the common one
	Interpreter func(why string, chosen bool) llm.Model                                // why explains why the interpreter answers although a model is configured; "" otherwise. chosen: the owner wants it so
	Files       llm.Files
	Auth        func(context.Context) (llm.Credentials, error) // for the backend that uses an account
	Rejected    func(token string)                             // see llm.Config
	Path        string                                         // the config file, as shown to the user
	Now         func() time.Time
	Log         *slog.Logger
	Watch       func(section string) llm.Watch // see llm.Config
	Learned     *sync.Map                      // what the servers have told of models: *llm.Learned by place; nil: it is not kept
}

// Lineup lists the models to ask, in order, and the configured models that cannot be used.
type Lineup struct {
	Chain  *llm.Chain
	Names  []string // names of the chain's models: Default, a [models.NAME], backend/model, or Builtin
	Faults []Fault
}

// Fault is a configured model that cannot be used.
type Fault struct {
	Name string
	Err  error
}

// fallbacks returns the fallbacks of a model: its own list, or the list of [model]. The interpreter needs none, and a model is never its own
// fallback.
func fallbacks(c *config.Snapshot, name string, section config.Model) []string {
	if section.Backend == Builtin || section.Backend == "" {
		return nil
	}
	list := section.Fallback
	if len(list) == 0 {
		list = c.Model.Fallback
	}
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == name })
}

// Lineup creates the chosen model and its fallbacks. Models that cannot be created are reported as Faults and left out. Without any, the
// interpreter answers.
func (r Registry) Lineup(ctx context.Context, c *config.Snapshot, chosen string) Lineup {
	var l Lineup
	// A choice that the config no longer knows is reported, and [model] takes its place.
	first, section, err := r.Pick(c, chosen)
	if err != nil {
		l.Faults = append(l.Faults, Fault{chosen, err})
		first, section = Default, c.Model
	}
	// A model that cannot be connected is reported, and the others are used without it.
	var models []llm.Model
	add := func(name string, section config.Model) {
		m, err := r.Connect(ctx, name, section)
		if err != nil {
			l.Faults = append(l.Faults, Fault{name, err})
			return
		}
		models, l.Names = append(models, m), append(l.Names, name)
	}
	add(first, section)
	for _, name := range fallbacks(c, first, section) {
		add(name, c.Models[name])
	}
	// Without any model the interpreter answers, and says why.
	if len(models) == 0 {
		why := "The model that is set up cannot be used"
		if len(l.Faults) > 0 {
			why += ": " + l.Faults[0].Err.Error()
		}
		models, l.Names = []llm.Model{r.Interpreter(why+". See: hob status", false)}, []string{Builtin}
	}
	l.Chain = llm.NewChain(models[0], models[1:]...)
	return l
}

// Pick finds the section of a model by name. Default or "" is [model], NAME is [models.NAME], and backend/model is that model at that
// backend, with the address and key of the first section that uses the backend.
func (r Registry) Pick(c *config.Snapshot, name string) (string, config.Model, error) {
	if name == "" || name == Default {
		return Default, c.Model, nil
	}
	if m, ok := c.Models[name]; ok {
		return name, m, nil
	}
	if name == Builtin {
		return name, config.Model{Backend: Builtin}, nil
	}
	backend, model, _ := strings.Cut(name, "/")
	if _, ok := r.backend(backend); !ok || model == "" {
		return "", config.Model{}, event.NewFault(event.Missing, "there are "+strings.Join(Known(c), ", ")+", and backend/model, for example ollama/qwen3", "there is no model %q", name)
	}
	// backend/model without a section uses the address and the key of a section with that backend, if there is one.
	m := config.Model{Backend: backend}
	for _, s := range append([]config.Model{c.Model}, values(c.Models)...) {
		if s.Backend == backend {
			m = s
			break
		}
	}
	// The price and the fallbacks belong to the other model of that section.
	m.Model, m.Fallback, m.Price = model, nil, config.Price{}
	return name, m, nil
}

// values returns a map's values in the order of its keys.
func values[V any](m map[string]V) []V {
	var list []V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

// Connect creates the model of a section and resolves its key.
func (r Registry) Connect(ctx context.Context, name string, m config.Model) (llm.Model, error) {
	key, err := r.Key(ctx, name, m)
	if err != nil {
		return nil, err
	}
	web, err := r.web(ctx, name, m)
	if err != nil {
		return nil, err
	}
	return r.Build(name, m, key, web, r.Files)
}

// web returns the HTTP client of a section.
func (r Registry) web(ctx context.Context, name string, m config.Model) (*http.Client, error) {
	web, err := r.Web(ctx, strings.Trim(where(name), "[]"), m.Proxy)
	if err != nil {
		return nil, event.NewFault(event.Invalid, "none, or an address like http://proxy.example.org:3128", "%s proxy: %v", where(name), err)
	}
	return web, nil
}

// watch returns what sees the exchange with a section's server; nil: nothing does.
func (r Registry) watch(name string) llm.Watch {
	if r.Watch == nil {
		return nil
	}
	return r.Watch(strings.Trim(where(name), "[]"))
}

// where returns a model's section as the config file writes it.
func where(name string) string {
	if name == Default {
		return "[model]"
	}
	return "[models." + name + "]"
}

// Key resolves the key of a section; "" when it has none.
func (r Registry) Key(ctx context.Context, name string, m config.Model) (string, error) {
	if m.APIKey == "" {
		return "", nil
	}
	key, err := r.Resolve(ctx, strings.Trim(where(name), "[]")+".api_key", m.APIKey)
	if err != nil {
		return "", event.NewFault(event.Invalid, "api_key takes env:NAME, file:PATH, keyring:NAME or cmd:COMMAND", "%s api_key: %v", where(name), err)
	}
	return key, nil
}

// Build creates the model of a section. Without a backend it returns the interpreter. It does not connect; web is nil when no request will
// be made.
func (r Registry) Build(name string, m config.Model, key string, web *http.Client, files llm.Files) (llm.Model, error) {
	switch {
	// The interpreter always comes last by itself, so it is not allowed as a fallback.
	case m.Backend == Builtin && name != Default && name != Builtin:
		return nil, event.NewFault(event.Invalid, "take it out of fallback: the interpreter always comes last by itself", "%s backend builtin is no model to fall back to", where(name))
	case m.Backend == "" && name == Default:
		return r.Interpreter(r.off("model"), false), nil
	case name == Builtin:
		return r.Interpreter("The built-in interpreter was chosen. hob model use default takes that back", true), nil
	case m.Backend == Builtin:
		return r.Interpreter("", false), nil
	}
	b, ok := r.backend(m.Backend)
	if !ok {
		p := r.Config().Fault(strings.Trim(where(name), "[]"), "backend", fmt.Sprintf("backend %q is not known", m.Backend))
		return nil, event.NewFault(event.Invalid, "one of builtin, "+strings.Join(names(r.Backends), ", "), "%s", p)
	}
	c := llm.Config{
		Provider: b.Name, Model: m.Model, BaseURL: m.BaseURL, APIKey: key, HTTP: web, Watch: r.watch(name), MaxOutput: m.MaxOutputTokens, Context: m.ContextTokens,
		Learned: r.learned(m), Tools: m.Tools, Thinking: m.Thinking, Price: price(m.Price), First: m.FirstByteTimeout, Idle: m.IdleTimeout, Files: files, Now: r.Now,
	}
	if c.Tools == "" && len(r.Config().Tools.Core) > 0 {
		c.Tools = "all" // the owner has chosen the tools
	}
	if b.Account {
		c.Auth, c.Rejected = r.Auth, r.Rejected
	}
	model, err := b.New(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(name), err)
	}
	return model, nil
}

// backend finds a backend by name.
func (r Registry) backend(name string) (llm.Backend, bool) { return find(r.Backends, name) }

// find returns the backend with a name.
func find(backends []llm.Backend, name string) (llm.Backend, bool) {
	return first(backends, func(b llm.Backend) bool { return b.Name == name })
}

// first returns the first backend of a kind.
func first(backends []llm.Backend, is func(llm.Backend) bool) (llm.Backend, bool) {
	i := slices.IndexFunc(backends, is)
	if i < 0 {
		return llm.Backend{}, false
	}
	return backends[i], true
}

// names returns the names of backends in their order.
func names(backends []llm.Backend) []string {
	var list []string
	for _, b := range backends {
		list = append(list, b.Name)
	}
	return list
}

// Backends returns the values that a section's key backend accepts.
func Backends(backends []llm.Backend) []string { return append([]string{Builtin}, names(backends)...) }

// Missing returns what a section still needs before its model can be created, and an example; both are "" when nothing is missing. It makes
// no request and assumes that keys and accounts exist.
func Missing(backends []llm.Backend, m config.Model) (missing, hint string) {
	b, known := find(backends, m.Backend)
	if m.Backend == "" {
		// The section is judged by a backend that needs an address, so that the example names every key that could be needed.
		b, known = first(backends, func(b llm.Backend) bool { return b.BaseURL == "" })
	}
	switch {
	case m.Backend == "" && m.Model == "" && m.BaseURL == "" || m.Backend == Builtin:
		return "", ""
	case m.Backend == "":
		missing = "it names no backend"
	case !known:
		return "", "" // reported as another error
	default:
		auth := func(context.Context) (llm.Credentials, error) { return llm.Credentials{}, nil }
		_, err := b.New(llm.Config{Provider: b.Name, Model: m.Model, BaseURL: m.BaseURL, Thinking: m.Thinking, Auth: auth})
		if err == nil {
			return "", ""
		}
		missing = err.Error()
	}
	example := fmt.Sprintf("backend = %q, model = %q", b.Name, cmp.Or(m.Model, "NAME"))
	if b.BaseURL == "" {
		example += fmt.Sprintf(", base_url = %q", cmp.Or(m.BaseURL, "https://host/v1"))
	}
	return missing, "for example: " + example + " (hob config set takes several keys at once)"
}

// Known returns the names by which a model can be chosen.
func Known(c *config.Snapshot) []string {
	return append([]string{Default, Builtin}, slices.Sorted(maps.Keys(c.Models))...)
}

// off returns the reason that a section is switched off, or "".
func (r Registry) off(section string) string {
	if !r.Config().Off(section) {
		return ""
	}
	return "[" + section + "] is switched off by a mistake in " + r.Path + ". See: hob config validate"
}

// price converts the config's price per million tokens to millionths.
func price(p config.Price) llm.Price {
	return llm.Price{Input: micros(p.Input), Cached: micros(p.Cached), Written: micros(p.Written), Output: micros(p.Output)}
}

// micros converts an amount to millionths, rounded to the nearest.
func micros(amount float64) int64 { return int64(math.Round(amount * 1e6)) }
