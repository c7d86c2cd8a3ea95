package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hob/config"
	"hob/daemon/llm"
)

// leastWindow is the smallest window that is believed, in tokens. askWindows is the interval between two questions to servers whose windows
// depend on how a model was loaded.
const (
	leastWindow = 1_024
	askWindows  = 15 * time.Minute
)

// place identifies a model at a server, with the level of thinking that its requests ask for: another level may be taken.
type place struct{ backend, url, model, thinking string }

// learned returns what a server has told of a model.
func (r Registry) learned(m config.Model) *llm.Learned {
	if r.Learned == nil {
		return &llm.Learned{}
	}
	v, _ := r.Learned.LoadOrStore(place{m.Backend, r.baseURL(m), m.Model, m.Thinking}, &llm.Learned{})
	l, _ := v.(*llm.Learned)
	return l
}

// askFor asks the servers of the named models for their windows. Windows that a server does not report stay as they are.
func (r Registry) askFor(ctx context.Context, names []string, which func(config.Model) bool) {
	for _, name := range names {
		_, section, err := r.Pick(r.Config(), name)
		if err != nil || section.Backend == "" || section.Backend == Builtin || !which(section) {
			continue
		}
		row := Server{Backend: section.Backend, BaseURL: r.baseURL(section), Names: []string{name}}
		r.list(ctx, &row)
		// ollama lists a name without a version with the version "latest".
		i := slices.IndexFunc(row.Models, func(e llm.Entry) bool { return e.ID == section.Model || e.ID == section.Model+":latest" })
		if i < 0 {
			r.Log.Debug("the server does not say how large a request may be", "model", name, "err", row.Error)
			continue
		}
		if n := cmp.Or(row.Models[i].LoadedContext, row.Models[i].Window); n >= leastWindow {
			l := r.learned(section)
			l.Lock()
			l.Listed = n
			l.Unlock()
		}
	}
}

// Run asks the servers of the models in use for their windows: at the start, and when other models come into use. It asks servers that load
// models again every quarter of an hour. It never fails, because every model has a default window.
func (m *Models) Run(ctx context.Context) error {
	for due := m.Clock.Mono() + askWindows; ; {
		timer := m.Clock.Timer(due - m.Clock.Mono())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-m.renewed: // also when the process starts
			m.Registry.askFor(ctx, m.Lineup().Names, func(config.Model) bool { return true })
		case <-timer.C:
			if m.Clock.Mono() >= due { // a jump of the wall clock ends a timer early
				m.Registry.askFor(ctx, m.Lineup().Names, func(s config.Model) bool { b, _ := m.Registry.backend(s.Backend); return b.Loads })
				due = m.Clock.Mono() + askWindows
			}
		}
		timer.Stop()
	}
}
