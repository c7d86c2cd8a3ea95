package daemon

import (
	"context"
	"net/http"
	"slices"

	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/netguard"
)

// ModelService is a kind of model server that a person can choose to connect.
type ModelService struct {
	Backend string
	Title   string // how people know it; "" for any server whose address the owner gives
	KeyName string // the environment variable in which its key usually is
}

// ModelServices lists the services that take a key, and last the backend for any other server.
func ModelServices() (list []ModelService) {
	var others []ModelService
	for _, b := range all.All() {
		switch {
		case b.Title != "":
			list = append(list, ModelService{b.Name, b.Title, b.KeyName})
		case b.BaseURL == "":
			others = append(others, ModelService{Backend: b.Name})
		}
	}
	return append(list, others...)
}

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
