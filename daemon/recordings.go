package daemon

import (
	"context"
	"maps"
	"slices"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/record"
)

// recordRoutes start and stop recordings of the exchange with a server.
func recordRoutes(d *daemon) []server.Route {
	return []server.Route{
		server.ShowOnly(api.ShowRecording, func(context.Context) (api.Recording, error) { return d.recorder.Show(), nil }),
		server.DoPlain(api.StartRecord, func(ctx context.Context, subject string) (api.Recording, error) {
			subjects, err := recordable(ctx, d)
			if err != nil {
				return api.Recording{}, err
			}
			head, ok := subjects[subject]
			if !ok {
				known := strings.Join(slices.Sorted(maps.Keys(subjects)), ", ")
				hint := "there are: " + known
				if known == "" {
					hint = "connect a model, a channel or an MCP server first: hob setup"
				}
				return api.Recording{}, event.NewFault(event.Missing, hint, "there is no %q that can be recorded", subject)
			}
			head.Subject = subject
			return d.recorder.Start(head)
		}),
		server.DoOnly(api.StopRecord, func(context.Context, api.None) (api.Recording, error) { return d.recorder.Stop() }),
	}
}

// recordable lists what can be recorded, as the config names it: the models with a server, the channels that speak HTTP, and the MCP
// servers.
func recordable(ctx context.Context, d *daemon) (map[string]record.Head, error) {
	roster, err := d.models.Roster(ctx)
	if err != nil {
		return nil, err
	}
	list := map[string]record.Head{}
	for _, m := range roster.Models {
		name := "models." + m.Name
		if m.Name == catalog.Default {
			name = "model"
		}
		if m.Backend != llm.Builtin {
			list[name] = record.Head{Backend: m.Backend, Model: m.Model}
		}
	}
	for _, c := range d.config().Channels {
		if c.Kind != "email" && c.Kind != "irc" { // they speak other protocols
			list["channels."+c.Name] = record.Head{Kind: c.Kind}
		}
	}
	for name := range d.config().MCP.Servers {
		list["mcp."+name] = record.Head{}
	}
	return list, nil
}
