package daemon

import (
	"context"
	"os"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/toolset"
)

// newServers makes the service for MCP servers. It starts none: the first call of a tool does.
func newServers(d *daemon, t *toolset.Deps) *mcp.Service {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a ~ in a section then names no folder
	}
	return mcp.NewService(mcp.Deps{
		Rows: d.store.Settings, Questions: mcp.Questions{Rows: d.store.Settings, Answered: d.store.Outbox.QuestionsSignal, Owner: d.recipients.Owner}, Vault: newVault(d.opt, d.network, d.log), Redact: &d.secrets,
		Artifacts: d.artifacts, Config: d.config, Resolve: d.network.resolve, Picture: t.Picture, Registry: t.Registry, Spawn: t.Spawn,
		Ways: t,
		Event: func(ctx context.Context, e event.Event) {
			if err := d.store.Events.Append(ctx, e); err != nil && ctx.Err() == nil {
				d.log.Warn("the progress of a call was not noted", "err", err)
			}
		},
		Tell: func(ctx context.Context, key, text string) {
			if err := d.store.Events.Notice(ctx, key, d.secrets.Text(text)); err != nil && ctx.Err() == nil {
				d.log.Error("tell the owner about an MCP server", "err", err)
			}
		},
		Home: home, Instance: t.Instance, Environ: t.Environ, Version: d.opt.Version, Clock: d.clock, Log: d.log, Recorder: d.recorder,
	})
}

// serverRoutes show, test, accept and forget MCP servers.
func serverRoutes(s *mcp.Service) []server.Route {
	return []server.Route{
		server.ListAll(api.MCPServers, s.List),
		server.Show(api.ShowMCP, s.Show),
		server.DoPlain(api.TestMCP, s.Test),
		server.Do(api.AcceptMCP, s.Accept),
		server.Do(api.InstallMCP, s.Installs().Install),
		server.DoPlain(api.RemoveMCP, s.Remove),
		server.DoPlain(api.BeginMCPLogin, s.SignIns().Begin),
		server.DoPlain(api.AwaitMCPLogin, s.SignIns().Await),
		server.Do(api.FinishMCPLogin, s.SignIns().Finish),
		server.DoPlain(api.CancelMCPLogin, s.SignIns().Cancel),
	}
}

// taken takes the addresses of sign-ins out of what has arrived, so that they are never stored. finish completes the sign-ins; the sender of a
// wrong address is told.
func (s inboxStore) taken(ctx context.Context, ins []event.In) (rest []event.In, finish []func() error) {
	ctx = context.WithoutCancel(ctx) // a code counts once: it is sent even if the channel ends
	for _, in := range ins {
		complete, ok := s.signIns.Take(ctx, in)
		if !ok {
			rest = append(rest, in)
			continue
		}
		finish = append(finish, func() error {
			_, err := complete(ctx)
			if f, ok := event.AsFault(err); ok {
				return s.tell(ctx, "sign-in:"+in.Source+":"+in.ExtID, f.Text+" ("+f.Hint+")")
			}
			return err
		})
	}
	return rest, finish
}
