package daemon

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/catalog"
	"hob/daemon/record"
	"hob/daemon/secret"
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
			for _, c := range d.config().Channels {
				if !ok && "channels."+c.Name == subject {
					return api.Recording{}, event.NewFault(event.Invalid, "its log may help: hob logs", "%s cannot be recorded: its kind, %s, does not use HTTP", subject, c.Kind)
				}
			}
			if !ok {
				known := strings.Join(slices.Sorted(maps.Keys(subjects)), ", ")
				hint := "there are: " + known
				if known == "" {
					hint = "connect a model, a channel or an MCP server first: hob setup"
				}
				return api.Recording{}, event.NewFault(event.Missing, hint, "there is no %q that can be recorded", subject)
			}
			head.Subject = subject
			state, err := d.recorder.Start(head)
			if name, ok := strings.CutPrefix(subject, "channels."); ok && err == nil {
				d.host.Restart(name) // its connection began before the recording
			}
			return state, err
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
		if c.Kind != "email" && c.Kind != "irc" { // they use other protocols
			var section map[string]any
			if err := c.Decode(&section); err != nil {
				return nil, err
			}
			raw, err := json.Marshal(section)
			if err != nil {
				return nil, err
			}
			mine := slices.DeleteFunc(slices.Clone(d.recipients.Owner()), func(a event.Address) bool { return a.Channel() != c.Name })
			list["channels."+c.Name] = record.Head{Kind: c.Kind, Config: portable(raw), Owner: mine}
		}
	}
	for name := range d.config().MCP.Servers {
		list["mcp."+name] = record.Head{}
	}
	return list, nil
}

// portable returns a channel's section for a recording: without references to secrets, and without the program that hob would start.
func portable(section json.RawMessage) json.RawMessage {
	var keys map[string]any
	_ = json.Unmarshal(section, &keys) // without a section the channel says what is missing
	maps.DeleteFunc(keys, func(key string, _ any) bool { return strings.EqualFold(key, "command") })
	for key, value := range keys {
		if text, ok := value.(string); ok && secret.IsReference(text) {
			keys[key] = "env:RECORDED"
		}
	}
	clean, _ := json.Marshal(keys) // it was decoded
	return clean
}
