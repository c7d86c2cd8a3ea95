// Package catalog knows which models there are. It makes the models of the config's sections, in the order in which they are asked; it
// lists what the servers have; it suggests a name for one that does not exist; and it tries one out. It keeps nothing, and it decides
// nothing while a request runs: llm.Chain does.
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
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// The names of models that are no section of [models].
const (
	Default = "default" // [model]
	Builtin = "builtin" // the interpreter, which is a backend too
	First   = "first"   // whichever is asked first
)

// Registry makes models of the config's sections. All its fields must be set; it is read only.
type Registry struct {
	Backends    []llm.Backend
	Config      func() *config.Snapshot
	Resolve     func(ctx context.Context, name, ref string) (string, error)            // the value of a secret
	Web         func(ctx context.Context, section, proxy string) (*http.Client, error) // asks a server, through the proxy of its section or the common one
	Interpreter func(why string) llm.Model                                             // why says why it answers although a model is set up, "" when none is
	Files       llm.Files
	Auth        func(context.Context) (llm.Credentials, error) // of the backend with an account
	Spoiled     func(token string)                             // see llm.Config
	Path        string                                         // of the config file, as shown
	Now         func() time.Time
	Log         *slog.Logger
}

// Lineup is the models that hob asks, in order, and what is wrong with those that cannot be asked.
type Lineup struct {
	Chain  *llm.Chain
	Names  []string // of the chain's models: Default, a [models.NAME], backend/model, or Builtin
	Faults []Fault
}

// Fault is a model that was to be asked and cannot be.
type Fault struct {
	Name string
	Err  error
}

// behind are the models that step in for one: those that it names, else those that [model] names. The interpreter needs none.
func behind(c *config.Snapshot, name string, section config.Model) []string {
	if section.Backend == Builtin || section.Backend == "" {
		return nil
	}
	list := section.Fallback
	if len(list) == 0 {
		list = c.Model.Fallback
	}
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return n == name })
}

// Lineup makes the chosen model and its fallbacks. Those that cannot be made are left out; when none is left, the interpreter
// serves.
func (r Registry) Lineup(ctx context.Context, c *config.Snapshot, chosen string) Lineup {
	var l Lineup
	first, section, err := r.Pick(c, chosen)
	if err != nil {
		l.Faults = append(l.Faults, Fault{chosen, err})
		first, section = Default, c.Model
	}
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
	for _, name := range behind(c, first, section) {
		add(name, c.Models[name])
	}
	if len(models) == 0 {
		why := "The model that is set up cannot be used"
		if len(l.Faults) > 0 {
			why += ": " + l.Faults[0].Err.Error()
		}
		models, l.Names = []llm.Model{r.Interpreter(why + ". See: hob status")}, []string{Builtin}
	}
	l.Chain = llm.NewChain(models[0], models[1:]...)
	return l
}

// Pick finds the section of a model by its name: Default or "" is [model], NAME is [models.NAME], and backend/model is that model at
// that backend, with the address and the key of a section that has them.
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

// Connect makes the model of a section, with the key that it refers to.
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

// web is the client of a section.
func (r Registry) web(ctx context.Context, name string, m config.Model) (*http.Client, error) {
	web, err := r.Web(ctx, strings.Trim(where(name), "[]"), m.Proxy)
	if err != nil {
		return nil, event.NewFault(event.Invalid, "none, or an address like http://proxy.example.org:3128", "%s proxy: %v", where(name), err)
	}
	return web, nil
}

// where is a model's section as the owner finds it.
func where(name string) string {
	if name == Default {
		return "[model]"
	}
	return "[models." + name + "]"
}

// Key resolves the key of a section, "" when it needs none.
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

// Build makes the model of a section. Without a backend, the interpreter serves. It connects to nobody; web is nil where nobody is asked.
func (r Registry) Build(name string, m config.Model, key string, web *http.Client, files llm.Files) (llm.Model, error) {
	switch {
	case m.Backend == Builtin && name != Default && name != Builtin:
		return nil, event.NewFault(event.Invalid, "take it out of fallback: the interpreter always comes last by itself", "%s backend builtin is no model to fall back to", where(name))
	case m.Backend == "" && name == Default:
		return r.Interpreter(r.off("model")), nil
	case name == Builtin:
		return r.Interpreter("The built-in interpreter was chosen. To ask the model that is set up again: hob model use default"), nil
	case m.Backend == Builtin:
		return r.Interpreter(""), nil
	}
	b, ok := r.backend(m.Backend)
	if !ok {
		return nil, event.NewFault(event.Invalid, "one of builtin, "+strings.Join(names(r.Backends), ", "), "%s backend %q is not known", where(name), m.Backend)
	}
	c := llm.Config{
		Provider: b.Name, Model: m.Model, BaseURL: m.BaseURL, APIKey: key, HTTP: web, MaxOutput: m.MaxOutputTokens, Context: m.ContextTokens,
		Thinking: m.Thinking, Price: price(m.Price), First: m.FirstByteTimeout, Idle: m.IdleTimeout, Files: files, Now: r.Now,
	}
	if b.Account {
		c.Auth, c.Spoiled = r.Auth, r.Spoiled
	}
	model, err := b.New(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(name), err)
	}
	return model, nil
}

// backend finds a backend by its name.
func (r Registry) backend(name string) (llm.Backend, bool) { return find(r.Backends, name) }

func find(backends []llm.Backend, name string) (llm.Backend, bool) {
	i := slices.IndexFunc(backends, func(b llm.Backend) bool { return b.Name == name })
	if i < 0 {
		return llm.Backend{}, false
	}
	return backends[i], true
}

// names are the names of backends, in their order.
func names(backends []llm.Backend) []string {
	var list []string
	for _, b := range backends {
		list = append(list, b.Name)
	}
	return list
}

// Backends are the names that a section's key backend takes.
func Backends(backends []llm.Backend) []string { return append([]string{Builtin}, names(backends)...) }

// Missing is what a section still needs before a model can be made of it, and how to write it; both are "" when it is whole. It asks nobody:
// keys and accounts count as there.
func Missing(backends []llm.Backend, m config.Model) (missing, hint string) {
	b, known := find(backends, cmp.Or(m.Backend, "compatible"))
	switch {
	case m.Backend == "" && m.Model == "" && m.BaseURL == "" || m.Backend == Builtin:
		return "", ""
	case m.Backend == "":
		missing = "it names no backend"
	case !known:
		return "", "" // that is another mistake
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

// Known are the names that a model can be chosen by.
func Known(c *config.Snapshot) []string {
	return append([]string{Default, Builtin}, slices.Sorted(maps.Keys(c.Models))...)
}

// off says that a section is switched off by a mistake, "" when it is not.
func (r Registry) off(section string) string {
	if !r.Config().Off(section) {
		return ""
	}
	return "[" + section + "] is switched off by a mistake in " + r.Path + ". See: hob config validate"
}

// price turns the config's price of a million tokens into millionths.
func price(p config.Price) llm.Price {
	return llm.Price{Input: micros(p.Input), Cached: micros(p.Cached), Output: micros(p.Output)}
}

func micros(amount float64) int64 { return int64(math.Round(amount * 1e6)) }
