package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hob/config"
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
			c := d.config()
			subjects, err := recordable(ctx, d, c)
			if err != nil {
				return api.Recording{}, err
			}
			head, ok := subjects[subject]
			for _, one := range c.Channels {
				if !ok && "channels."+one.Name == subject {
					return api.Recording{}, event.NewFault(event.Invalid, "its log may help: hob logs", "%s cannot be recorded: its kind, %s, does not use HTTP", subject, one.Kind)
				}
			}
			if !ok {
				known := strings.Join(slices.Sorted(maps.Keys(subjects)), ", ")
				return api.Recording{}, event.NewFault(event.Missing, "there are: "+cmp.Or(known, "none yet; connect one with hob setup"), "there is no %q that can be recorded", subject)
			}
			head.Subject = subject
			state, err := d.recorder.Start(head)
			if name, ok := strings.CutPrefix(subject, "channels."); ok && err == nil {
				d.host.Restart(name) // its first exchanges are needed to read the rest
			}
			return state, err
		}),
		server.DoOnly(api.StopRecord, func(context.Context, api.None) (api.Recording, error) { return d.recorder.Stop() }),
	}
}

// recordable lists what can be recorded, as the config names it: the models with a server, the channels that speak HTTP, and the MCP
// servers.
func recordable(ctx context.Context, d *daemon, snapshot *config.Snapshot) (map[string]record.Head, error) {
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
	for _, c := range snapshot.Channels {
		if c.Kind != "email" && c.Kind != "irc" { // they use other protocols
			var section map[string]any
			_ = c.Decode(&section) // the channel itself says what is wrong with it
			mine := slices.DeleteFunc(slices.Clone(d.recipients.Owner()), func(a event.Address) bool { return a.Channel() != c.Name })
			list["channels."+c.Name] = record.Head{Kind: c.Kind, Config: portable(section), Owner: mine}
		}
	}
	for name := range snapshot.MCP.Servers {
		list["mcp."+name] = record.Head{}
	}
	return list, nil
}

// portable returns a channel's section for a recording: without references to secrets, and without the program that hob would start.
func portable(section map[string]any) json.RawMessage {
	clean := map[string]any{}
	for key, value := range section {
		if text, ok := value.(string); ok && secret.IsReference(text) {
			value = "env:RECORDED"
		}
		if !strings.EqualFold(key, "command") {
			clean[key] = value
		}
	}
	raw, _ := json.Marshal(clean) // it was decoded from text
	return raw
}
