package daemon

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/mcpserver"
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

// ModelList asks a model server for its models. base may be "" for a backend with a usual address. It uses no proxy. Errors are *event.Fault
// with a hint.
func ModelList(ctx context.Context, backend, base, key string) ([]llm.Entry, error) {
	i := slices.IndexFunc(all.All(), func(b llm.Backend) bool { return b.Name == backend })
	if i < 0 {
		return nil, nil
	}
	b := all.All()[i]
	base = cmp.Or(base, b.BaseURL)
	return b.List(ctx, llm.Config{Provider: backend, BaseURL: base, APIKey: key, HTTP: &http.Client{Transport: netguard.Proxy{}.Transport()}})
}

// KeyRefused reports whether a model server has refused the key, by the error of ModelList.
func KeyRefused(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Fault == llm.Auth || e.Fault == llm.Forbidden)
}

// Memory is the memory of this machine in bytes, 0 where the system does not tell it.
func Memory() int64 { return mcpserver.Memory() }
