package doctor

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// checkMemory checks that the index of the memory can be read and follows its files, which files are not searched whole, and what the last request to the
// server of [memory.embeddings] said. It sends nothing to that server itself, because each request may cost money.
func checkMemory(ctx context.Context, s *facts) (r Result) {
	m, err := client.Show(ctx, s.client, api.ShowMemory, "")
	if p := (*client.Problem)(nil); errors.As(err, &p) && p.Kind == event.Unavailable && p.Hint != "" {
		return Result{State: Fail, Found: "its index cannot be used: " + err.Error(), Repair: p.Hint} // the disk is the cause, and a new index would fail too
	} else if p != nil {
		return Result{State: Fail, Found: "its index cannot be read: " + err.Error(), Repair: "hob memory reindex", fixes: s.reindex(ctx)}
	}
	if err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: "hob memory status"}
	}
	switch {
	case m.Hint != "":
		r.add(Fail, m.Hint, "its index could not be brought up to date: %s", m.Error)
	case m.Error != "":
		r.add(Fail, "hob memory status, then hob memory reindex", "its index could not be brought up to date: %s", m.Error)
		r.fixes = s.reindex(ctx)
	}
	for _, text := range m.Problems {
		r.add(Warn, "hob memory status", "left out: %s", text)
	}
	for _, f := range m.Skipped {
		r.add(Warn, "hob memory list", "%s: %s", f.Path, cmp.Or(f.Problem, f.State))
	}
	vectors := ""
	if m.Vectors != nil {
		vectors = ", " + console.Plural(int64(m.Vectors.Have), "vector")
		if m.Vectors.Fault != "" {
			r.add(Fail, "look at base_url, model, dimensions and api_key in [memory.embeddings] of config.toml; until then searches go by words", "embeddings: %s", m.Vectors.Fault)
		}
	}
	age := ""
	if !m.Synced.IsZero() {
		age = ", compared with the files " + console.Span(max(s.now().Sub(m.Synced), time.Millisecond).Milliseconds()) + " ago"
	}
	return r.or("%s in %s%s%s", console.Plural(int64(m.Files), "memory file"), console.Plural(int64(m.Passages), "passage"), vectors, age)
}

// reindex is the repair of an index: it is made again from the files. The limit of the check is over when repairs begin.
func (s *facts) reindex(ctx context.Context) []repair {
	return []repair{{"began to make the index of the memory again", func() error {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
		defer stop()
		_, err := client.Do(ctx, s.client, api.ReindexMemory, "", api.None{})
		return err
	}}}
}
