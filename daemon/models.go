package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/config"
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

// interpreter is the built-in model.
func (d conf) interpreter() llm.Model {
	return builtin.New(builtin.Options{Phrases: phrases(d), Owner: d.config().Owner.Name, Config: d.opt.config()})
}

// connect makes the configured model; without one, or when its section is off, the interpreter serves.
func (d conf) connect(ctx context.Context, c *config.Snapshot) (llm.Model, error) {
	m := c.Model
	if m.Backend == "" || m.Backend == "builtin" {
		return d.interpreter(), nil
	}
	if !slices.Contains(openai.Backends(), m.Backend) {
		return d.interpreter(), event.NewFault(event.Invalid, "one of builtin, "+strings.Join(openai.Backends(), ", "), "[model] backend %q is not known", m.Backend)
	}
	key := m.APIKey
	if key != "" {
		var err error
		if key, err = d.resolve(ctx, "model.api_key", key); err != nil {
			return d.interpreter(), fmt.Errorf("[model] api_key: %w", err)
		}
	}
	model, err := openai.New(openai.Config{
		Provider: m.Backend, Model: m.Model, BaseURL: m.BaseURL, APIKey: key, MaxOutput: m.MaxOutputTokens, Context: m.ContextTokens,
		Thinking: m.Thinking, Now: d.clock.Wall,
	})
	if err != nil {
		return d.interpreter(), fmt.Errorf("[model]: %w", err)
	}
	return model, nil
}

// modelName is "builtin", or backend/model.
func modelName(m llm.Model) string {
	i := m.Info()
	if i.Model == "" || i.Model == i.Provider {
		return i.Provider
	}
	return i.Provider + "/" + i.Model
}
