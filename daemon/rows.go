package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"hob/channels/admin"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
	"hob/daemon/llm/codex"
	"hob/daemon/policy"
	"hob/daemon/store"
	"hob/daemon/triggers"
)

// rows lists and shows what the local API offers.
type rows struct {
	view     *store.View
	budget   func(ctx context.Context) (api.Budget, error)
	grants   func(ctx context.Context) ([]policy.Grant, error)
	marks    func(ctx context.Context, hashes bool) ([]api.Mark, error)
	schedule triggers.Jobs
	hooks    *triggers.Webhooks
	watches  triggers.Watches
	status   func(ctx context.Context) (api.Status, error)
	models   roster
	work     store.Tasks
	admin    admin.Service
	hide     func(string) string // takes the values of secrets out of a text
}

var _ server.Rows = rows{}

// List returns the rows of a resource, without the values of secrets.
func (r rows) List(ctx context.Context, resource string, f event.Filter) (any, error) {
	return r.redacted(r.list(ctx, resource, f))
}

// Show returns one row with its details, without the values of secrets: a tool may have read one, and then the transcript has it.
func (r rows) Show(ctx context.Context, resource, id string) (any, error) {
	return r.redacted(r.show(ctx, resource, id))
}

// redacted is a row as JSON in which the values of secrets are replaced.
func (r rows) redacted(row any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	clean := json.RawMessage(r.hide(string(raw)))
	if !json.Valid(clean) {
		return nil, event.NewFault(event.Unavailable, "change that secret: its value cannot be taken out", "a secret is part of what is to be shown")
	}
	return clean, nil
}

func (r rows) list(ctx context.Context, resource string, f event.Filter) (any, error) {
	switch resource {
	case "turns":
		return r.view.TurnRows(ctx, f)
	case "inbox":
		return r.view.InboxRows(ctx, f)
	case "outbox":
		return r.view.OutboxRows(ctx, f)
	case "sessions":
		return r.view.SessionRows(ctx, f)
	case "questions":
		return r.view.QuestionRows(ctx, f)
	case "grants":
		return r.grants(ctx)
	case "jobs":
		return r.schedule.List(ctx)
	case "hooks":
		return r.hooks.List(ctx)
	case "watches":
		return r.watches.List(ctx)
	case "tasks":
		return r.work.Tasks(ctx, f)
	case "fires":
		return r.view.FireRows(ctx, f)
	case "audit":
		return r.view.AuditRows(ctx, f)
	case "marks":
		return r.marks(ctx, f.State != event.NamesOnly)
	case "channels":
		return r.admin.Channels(), nil
	case "pairings":
		return r.admin.Pairings(ctx, f)
	default:
		return nil, event.NewFault(event.Missing, "", "there is nothing called %s", resource)
	}
}

func (r rows) show(ctx context.Context, resource, id string) (any, error) {
	switch resource {
	case "status":
		return r.status(ctx)
	case "budget":
		return r.budget(ctx)
	case "model":
		return r.model(ctx, id)
	case "why":
		return r.view.Why(ctx, id)
	case "sessions":
		return r.view.SessionView(ctx, id)
	case "turns":
		n, err := number("turn", id)
		if err != nil {
			return nil, err
		}
		return r.view.TurnView(ctx, n)
	case "jobs":
		return r.schedule.Named(ctx, id)
	case "hooks":
		return r.hooks.Named(ctx, id)
	case "watches":
		return r.watches.Named(ctx, id)
	case "tasks":
		n, err := number("task", id)
		if err != nil {
			return nil, err
		}
		return r.work.Task(ctx, n)
	case "channels":
		return r.admin.Named(id)
	case "pairings":
		n, err := number("pairing", id)
		if err != nil {
			return nil, err
		}
		return r.admin.Pairing(ctx, n)
	default:
		return r.view.One(ctx, resource, id)
	}
}

func (r rows) model(ctx context.Context, id string) (any, error) {
	switch id {
	case "":
		return r.models.show(ctx)
	case "servers":
		return r.models.servers(ctx)
	case "voice":
		return r.models.hears(ctx), nil
	case codex.Name:
		return r.models.account.who(ctx)
	default:
		return nil, event.NewFault(event.Missing, "there are servers, voice and codex", "there is nothing called %s about models", id)
	}
}

// number reads an id.
func number(what, id string) (int64, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 {
		return 0, event.NewFault(event.Invalid, "ids are whole numbers", "%q is not the id of a %s", id, what)
	}
	return n, nil
}
