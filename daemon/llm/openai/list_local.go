package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
	"hob/daemon/sys"
)

// Limits of asking ollama for each model.
const (
	// Each model costs one request, so their number is limited.
	maxShown = 20
	atOnce   = 4
)

// addLMStudio adds LM Studio's own facts and reports whether the server is LM Studio. Version 0.4 and later answer in protocol version 1
// (https://lmstudio.ai/docs/developer/rest/list), older ones in version 0 (https://lmstudio.ai/docs/developer/rest/endpoints).
func (a asker) addLMStudio(ctx context.Context, c *wire.Collection) bool {
	if l, ok := a.ownList(ctx, "/api/v1/models"); ok && l.Models != nil {
		l.addStudio1(c)
		return true
	}
	l, ok := a.ownList(ctx, "/api/v0/models")
	return ok && l.addStudio0(c)
}

// ownList requests a list that the server may not have.
func (a asker) ownList(ctx context.Context, path string) (wireList, bool) {
	body, err := a.Fetch(ctx, a.Root(path))
	if err != nil {
		return wireList{}, false
	}
	l, err := a.parse(body)
	return l, err == nil
}

// addStudio1 adds a list of protocol version 1.
func (l wireList) addStudio1(c *wire.Collection) {
	// max_context_length is what the model was trained for; the instances have the length that was set when they were loaded.
	type wireStudio struct {
		Type         string `json:"type"` // llm, embedding
		Key          string `json:"key"`
		Name         string `json:"display_name"`
		Quantization struct {
			Name string `json:"name"`
		} `json:"quantization"`
		Bytes      float64 `json:"size_bytes"`
		Parameters string  `json:"params_string"`
		Loaded     []struct {
			Config struct {
				Context float64 `json:"context_length"`
			} `json:"config"`
		} `json:"loaded_instances"`
		Context float64 `json:"max_context_length"`
		Can     struct {
			Vision *bool `json:"vision"`
			Tools  *bool `json:"trained_for_tool_use"`
		} `json:"capabilities"`
	}
	for _, m := range rows[wireStudio](l.Models) {
		if m.Type != "llm" && m.Type != "vlm" {
			c.Hide(m.Key)
		}
		loaded := len(m.Loaded) > 0
		e := llm.Entry{
			ID: m.Key, Name: m.Name, Context: count(m.Context), Loaded: &loaded, Bytes: size(m.Bytes),
			Parameters: m.Parameters, Quantization: m.Quantization.Name, Tools: m.Can.Tools, Vision: m.Can.Vision,
		}
		if loaded {
			e.LoadedContext = count(m.Loaded[0].Config.Context)
		}
		c.Add(e)
	}
}

// addStudio0 adds a list of protocol version 0. It reports whether the list came from LM Studio, whose models have a state.
func (l wireList) addStudio0(c *wire.Collection) bool {
	type wireStudio struct {
		ID           string   `json:"id"`
		Type         string   `json:"type"` // llm, vlm, embeddings
		State        string   `json:"state"`
		Quantization string   `json:"quantization"`
		Context      float64  `json:"max_context_length"`
		Loaded       float64  `json:"loaded_context_length"`
		Can          []string `json:"capabilities"`
	}
	// Other servers with a list at this path have no state in its rows.
	marked := false
	for _, m := range rows[wireStudio](l.Data) {
		if m.State == "" {
			continue
		}
		marked = true
		if m.Type != "llm" && m.Type != "vlm" {
			c.Hide(m.ID)
		}
		loaded, sees := m.State == "loaded", m.Type == "vlm"
		c.Add(llm.Entry{
			ID: m.ID, Context: count(m.Context), LoadedContext: count(m.Loaded), Loaded: &loaded, Vision: &sees,
			Quantization: m.Quantization, Tools: among(m.Can, "tool_use"),
		})
	}
	return marked
}

// addProps adds the window of llama.cpp's server, which has one model (ggml-org/llama.cpp, tools/server/README.md, "GET /props"). It reports
// whether the server tells it.
func (a asker) addProps(ctx context.Context, c *wire.Collection) bool {
	var props struct {
		Settings struct {
			Context float64 `json:"n_ctx"` // of one slot, so of one request
		} `json:"default_generation_settings"`
	}
	ids := c.IDs()
	if body, err := a.Fetch(ctx, a.Root("/props")); err != nil || json.Unmarshal(body, &props) != nil || len(ids) != 1 {
		return false
	}
	c.Add(llm.Entry{ID: ids[0], Window: count(props.Settings.Context)})
	return props.Settings.Context > 0
}

// wireTag is a model in ollama's own lists (https://github.com/ollama/ollama/blob/main/docs/api.md, "List Local Models" and
// "List Running Models").
type wireTag struct {
	Name    string  `json:"name"`
	Size    float64 `json:"size"`
	Context float64 `json:"context_length"` // of a running model
	Details struct {
		Parameters   string `json:"parameter_size"`
		Quantization string `json:"quantization_level"`
	} `json:"details"`
}

// addTags adds the models on ollama's disk, and returns their names, newest first.
func (a asker) addTags(ctx context.Context, c *wire.Collection) []string {
	l, _ := a.ownList(ctx, "/api/tags")
	var names []string
	for _, m := range rows[wireTag](l.Models) {
		c.Add(llm.Entry{ID: m.Name, Bytes: size(m.Size), Parameters: m.Details.Parameters, Quantization: m.Details.Quantization})
		names = append(names, m.Name)
	}
	return names
}

// addRunning sets for every model whether it is loaded.
func (a asker) addRunning(ctx context.Context, c *wire.Collection) {
	l, ok := a.ownList(ctx, "/api/ps")
	if !ok {
		return
	}
	// All are unloaded at first; the list of running models then corrects that.
	no, yes := false, true
	for _, id := range c.IDs() {
		c.Add(llm.Entry{ID: id, Loaded: &no})
	}
	for _, m := range rows[wireTag](l.Models) {
		c.Add(llm.Entry{ID: m.Name, Loaded: &yes, LoadedContext: count(m.Context)})
	}
}

// addShown asks ollama about each model, a few at the same time. An error is a bug in this package.
func (a asker) addShown(ctx context.Context, c *wire.Collection, names []string) error {
	shown := make([]wireShown, len(names))
	err := each(slog.New(slog.DiscardHandler), "show a model", len(names), atOnce, func(i int) { shown[i] = a.show(ctx, names[i]) })
	for i, s := range shown {
		c.Add(llm.Entry{ID: names[i], Context: s.context(), Window: s.window(), Tools: among(s.Can, "tools"), Vision: among(s.Can, "vision")})
		// An old release reports no capabilities, and then the model stays visible.
		if s.Can != nil && !slices.Contains(s.Can, "completion") {
			c.Hide(names[i])
		}
	}
	return err
}

// wireShown is ollama's description of one model ("Show Model Information"; the names of the capabilities are in its source,
// types/model/capability.go).
type wireShown struct {
	Info map[string]json.RawMessage `json:"model_info"` // "general.architecture": "llama", "llama.context_length": 8192, …
	Can  []string                   `json:"capabilities"`
	Set  string                     `json:"parameters"` // "num_ctx                        8192\nstop …"
}

// show asks ollama about one model. The result is empty when the model is unknown.
func (a asker) show(ctx context.Context, name string) wireShown {
	body, err := a.Post(ctx, a.Root("/api/show"), map[string]string{"model": name})
	if err != nil {
		return wireShown{}
	}
	found := rows[wireShown]([]json.RawMessage{body})
	if !json.Valid(body) || len(found) == 0 {
		return wireShown{}
	}
	return found[0]
}

// context returns the largest request that the model was trained for, in tokens.
func (s wireShown) context() int {
	var n float64
	architecture := wire.TextOr(s.Info["general.architecture"])
	if json.Unmarshal(s.Info[architecture+".context_length"], &n) != nil {
		return 0
	}
	return count(n)
}

// window returns the size that the model is loaded with, if its file sets one; 0 otherwise.
func (s wireShown) window() (n int) {
	if _, rest, ok := strings.Cut("\n"+s.Set, "\nnum_ctx "); ok {
		_, _ = fmt.Sscan(rest, &n) // without a number, n stays 0
	}
	return n
}

// isOllama reports whether the server answers with ollama's greeting. Many other servers imitate the rest of its protocol.
func (a asker) isOllama(ctx context.Context) bool {
	body, err := a.Fetch(ctx, a.Root("/"))
	return err == nil && strings.HasPrefix(string(body), "Ollama is running")
}

// each calls f for the numbers below n, at most limit at the same time, and waits for all. A panic becomes an error.
func each(log *slog.Logger, name string, n, limit int, f func(int)) error {
	var mu sync.Mutex
	var failed []error
	g := sys.NewGroup(log, func(_ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, err)
	})
	// A fixed number of goroutines take the next number each, until none is left.
	var next atomic.Int64
	for range min(n, limit) {
		g.Once(name, func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
			return nil
		})
	}
	g.Wait()
	return errors.Join(failed...)
}
