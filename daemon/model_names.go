package daemon

import (
	"context"
	"net/http"
	"slices"

	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/netguard"
)

// ModelNames asks a model server for the names of its models, without those that it says cannot call tools. base may be "" for a backend
// with a usual address. It uses no proxy. Errors are *event.Fault with a hint.
func ModelNames(ctx context.Context, backend, base, key string) ([]string, error) {
	i := slices.IndexFunc(all.All(), func(b llm.Backend) bool { return b.Name == backend })
	if i < 0 {
		return nil, nil
	}
	b := all.All()[i]
	if base == "" {
		base = b.BaseURL
	}
	list, err := b.List(ctx, llm.Config{Provider: backend, BaseURL: base, APIKey: key, HTTP: &http.Client{Transport: netguard.Proxy{}.Transport()}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range list {
		if m.Tools == nil || *m.Tools {
			names = append(names, m.ID)
		}
	}
	return names, nil
}
