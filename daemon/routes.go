package daemon

import (
	"context"
	"slices"

	"hob/channels/cli"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/store"
	"hob/daemon/toolset"
)

// localAPI returns the dependencies of the local API.
// Package server serves them and imports neither the store nor this package.
func (d *daemon) localAPI(c *cli.Channel) server.Deps {
	r := ownerRequests{cli: c, store: d.store, thread: d.thread, ids: d.ids, clock: d.clock, reach: d.recipients.Reachable, artifacts: d.artifacts, signIns: d.mcp.SignIns()}
	programs := newEndpoints(d)
	calls := server.Calls{
		Dispatch: d.dispatch, Store: d.store.Calls, IDs: d.ids, Clock: d.clock, Absent: func() []api.Tool { return missingTools(d.live.Set()) },
		Scratch: func(session string) string { return fsguard.ScratchOf(d.opt.workspace(), session) }, Tainted: programs.tainted, Quotas: &server.Quotas{},
	}
	served := server.NewMCP(calls, d.opt.Version, d.secrets.Text, d.artifacts.Content, d.log)
	return server.Deps{
		Messages: r, Routes: slices.Concat(readRoutes(d.view, d.store), conversationRoutes(r), []server.Route{server.Show(api.ShowPrompt, prompts{d.settings, d.store, d.view, d.live, d.models.First}.show)}, triggerRoutes(d), channelRoutes(d), modelRoutes(d), skillRoutes(d), serverRoutes(d.mcp), accountRoutes(d.accounts), recordRoutes(d), upkeepRoutes(d), endpointRoutes(programs, served.End)),
		Tools: calls, MCP: served,
		Events: events{d.store}, Feed: &d.feed, Health: d.status, Webhooks: d.webhooks, Clients: programs, Chats: programs, Plain: plain, Hide: d.secrets.Text, Log: d.log,
	}
}

// readRoutes show rows as they are stored.
func readRoutes(v *store.View, s *store.Store) []server.Route {
	return []server.Route{
		server.List(api.Turns, v.TurnRows),
		server.List(api.Inbox, v.InboxRows),
		server.List(api.Outbox, v.OutboxRows),
		server.List(api.Sessions, v.SessionRows),
		server.List(api.Questions, v.QuestionRows),
		server.List(api.Fires, v.FireRows),
		server.List(api.Audit, v.AuditRows),
		server.List(api.Tasks, s.Tasks.Tasks),
		server.Show(api.ShowTurn, v.TurnView),
		server.Show(api.ShowInbox, v.InboxRow),
		server.Show(api.ShowOutbox, v.OutboxRow),
		server.Show(api.ShowSession, v.SessionView),
		server.Show(api.ShowQuestion, v.QuestionRow),
		server.Show(api.ShowFire, v.FireRow),
		server.Show(api.ShowAudit, v.AuditRow),
		server.Show(api.ShowTask, s.Tasks.Task),
		server.Show(api.ShowWhy, v.Why),
	}
}

// conversationRoutes stop, drop, answer and allow.
func conversationRoutes(r ownerRequests) []server.Route {
	s := r.store
	return []server.Route{
		server.Change(api.StopTurn, r.stop),
		server.Change(api.RetryInbox, s.Inbox.Retry),
		server.Change(api.DropInbox, s.Inbox.Drop),
		server.Change(api.RetryOutbox, s.Outbox.RetryOut),
		server.Change(api.DropOutbox, s.Outbox.DropOut),
		server.Change(api.ArchiveSession, s.Sessions.Archive),
		server.Change(api.PutAwaySession, s.Sessions.PutAway),
		server.Change(api.BringBack, s.Sessions.BringBack),
		server.Do(api.CompactSession, func(ctx context.Context, name string, in api.Compact) (api.Done, error) {
			return api.Done{OK: true}, s.Sessions.Compact(ctx, name, in.Matters)
		}),
		server.Do(api.ApproveQuestion, r.approve),
		server.DoPlain(api.DenyQuestion, r.deny),
		server.Do(api.AnswerQuestion, r.answer),
		server.ListAll(api.Grants, s.Grants.List),
		server.Change(api.RevokeGrant, s.Grants.Revoke),
		server.List(api.Marks, func(ctx context.Context, f event.Filter) ([]api.Mark, error) {
			return s.Marks().List(ctx, f.State != event.NamesOnly)
		}),
		server.DoOnly(api.AcceptMark, func(ctx context.Context, in api.MarkedFile) (api.Done, error) {
			return api.Done{OK: true}, s.Marks().Accept(ctx, in.Path, in.Hash)
		}),
		server.DoOnly(api.MarkForeign, func(ctx context.Context, in api.ForeignFile) (api.Done, error) {
			return api.Done{OK: true}, s.Marks().Mark(ctx, in.Path, in.Why)
		}),
	}
}

// triggerRoutes show jobs, watches and webhooks. Jobs and watches are changed by the tools cron and watch (hob cron and hob watch call them);
// webhooks have no tool, so they are changed here.
func triggerRoutes(d *daemon) []server.Route {
	jobs, watches, hooks := d.jobs, d.watches, d.webhooks
	return []server.Route{
		server.List(api.Jobs, jobs.Next),
		server.Show(api.ShowJob, jobs.Named),
		server.ListAll(api.Watches, watches.List),
		server.Show(api.ShowWatch, watches.Named),
		server.ListAll(api.Webhooks, hooks.List),
		server.Show(api.ShowWebhook, hooks.Named),
		server.Do(api.AddWebhook, hooks.Add),
		server.DoPlain(api.RemoveWebhook, hooks.Remove),
		server.DoPlain(api.PauseWebhook, hooks.Pause),
		server.DoPlain(api.ResumeWebhook, hooks.Resume),
		server.Do(api.RotateWebhook, hooks.Rotate),
		server.Do(api.TestWebhook, hooks.Test),
	}
}

// channelRoutes show and test channels, and pair people with them.
func channelRoutes(d *daemon) []server.Route {
	s := d.channelAdmin()
	return []server.Route{
		server.ListAll(api.Channels, func(context.Context) ([]api.Channel, error) { return s.Channels(), nil }),
		server.Show(api.ShowChannel, func(_ context.Context, name string) (api.Channel, error) { return s.Named(name) }),
		server.Do(api.TestChannel, s.Test),
		server.List(api.Pairings, s.Pairings),
		server.Show(api.ShowPairing, s.Pairing),
		server.DoPlain(api.StartPairing, s.StartPairing),
		server.DoPlain(api.EndPairing, s.EndPairing),
		server.DoPlain(api.RevokePairing, s.RevokePairing),
	}
}

// modelRoutes show, choose and test models, and sign in to codex.
func modelRoutes(d *daemon) []server.Route {
	return []server.Route{
		server.ShowOnly(api.ShowRoster, d.models.Roster),
		server.Show(api.ShowModel, d.status.model),
		server.ShowOnly(api.ShowModelServers, d.models.Servers),
		server.ShowOnly(api.ShowTranscription, func(ctx context.Context) (api.Transcription, error) {
			s := d.transcription.Look(ctx)
			s.BaseURL, s.Error = d.secrets.Text(s.BaseURL), d.secrets.Text(s.Error)
			return api.Transcription(s), nil
		}),
		server.ShowOnly(api.ShowAccount, d.account.who),
		server.DoPlain(api.UseModel, func(ctx context.Context, name string) (api.Text, error) {
			text, err := d.notices.useModel(ctx, name)
			return api.Text{Text: text}, err
		}),
		server.DoPlain(api.TestModel, d.models.Try),
		server.DoOnly(api.BeginSignIn, d.account.begin),
		server.DoOnly(api.AwaitSignIn, d.account.wait),
		server.DoOnly(api.FinishSignIn, d.account.finish),
		server.DoOnly(api.CancelSignIn, d.account.cancel),
		server.DoOnly(api.SignOut, d.account.logout),
	}
}

// upkeepRoutes are about hob itself.
func upkeepRoutes(d *daemon) []server.Route {
	return []server.Route{
		server.ShowOnly(api.ShowStatus, d.status.show),
		server.ShowOnly(api.ShowBudget, d.store.Spending.Spent),
		server.DoOnly(api.SetBudget, func(ctx context.Context, in api.BudgetChange) (api.Budget, error) {
			c, err := capOf(in)
			if err != nil {
				return api.Budget{}, err
			}
			return d.store.Spending.SetBudget(ctx, c)
		}),
		server.ListAll(api.MemoryFiles, d.tools.Remembers.List),
		server.List(api.ContextItems, d.store.Context().ContextItems),
		server.ShowOnly(api.ShowMemory, d.tools.Remembers.Status),
		server.DoOnly(api.ReindexMemory, func(ctx context.Context, _ api.None) (api.Done, error) {
			return api.Done{OK: true}, d.tools.Remembers.Reindex(ctx)
		}),
		server.DoOnly(api.LeaveSafeMode, func(ctx context.Context, _ api.None) (api.Done, error) {
			return api.Done{OK: true}, d.store.Settings.LeaveSafeMode(ctx)
		}),
		server.DoOnly(api.SearchHistory, func(ctx context.Context, in api.HistoryQuery) (api.HistoryFound, error) {
			return searchHistory(ctx, d, in)
		}),
		server.DoPlain(api.ForgetSession, func(ctx context.Context, name string) (api.Forgotten, error) { return forgetSession(ctx, d, name) }),
		server.DoOnly(api.CreateBackup, func(ctx context.Context, in api.BackupPath) (api.Backup, error) { return createBackup(ctx, d, in) }),
	}
}

// missingTools lists the tools that cannot work here, with the reasons.
func missingTools(s toolset.Set) (list []api.Tool) {
	for _, m := range s.Own().Missing {
		list = append(list, api.Tool{Spec: m.Spec, Why: m.Why})
	}
	return list
}

// events is the live view as the API reads it.
// It has only what a stream needs, so a stream cannot write.
type events struct{ store *store.Store }

func (e events) After(ctx context.Context, seq int64, limit int) ([]event.Event, error) {
	return e.store.Events.EventsAfter(ctx, seq, limit)
}
func (e events) Last(ctx context.Context) (int64, error) { return e.store.Events.LastEvent(ctx) }
func (e events) Wake() <-chan struct{}                   { return e.store.Events.EventsSignal() }
