package daemon

import (
	"context"
	"strconv"

	"hob/daemon/control"
	"hob/daemon/event"
	"hob/daemon/store"
)

// rows lists and shows what the local API offers.
type rows struct {
	store    *store.Store
	schedule schedule
	status   func(ctx context.Context) (Status, error)
}

var _ control.Rows = rows{}

// List returns the rows of a resource.
func (r rows) List(ctx context.Context, resource string, f event.Filter) (any, error) {
	switch resource {
	case "turns":
		return r.store.TurnRows(ctx, f)
	case "inbox":
		return r.store.InboxRows(ctx, f)
	case "outbox":
		return r.store.OutboxRows(ctx, f)
	case "sessions":
		return r.store.SessionRows(ctx, f)
	case "questions":
		return r.store.QuestionRows(ctx, f)
	case "grants":
		return r.store.Grants(ctx)
	case "jobs":
		return r.schedule.List(ctx)
	case "fires":
		return r.store.FireRows(ctx, f)
	case "audit":
		return r.store.AuditRows(ctx, f)
	default:
		return nil, event.NewFault(event.Missing, "", "there is nothing called %s", resource)
	}
}

// Show returns one row with its details.
func (r rows) Show(ctx context.Context, resource, id string) (any, error) {
	switch resource {
	case "status":
		return r.status(ctx)
	case "budget":
		return r.store.Spent(ctx)
	case "why":
		return r.store.Why(ctx, id)
	case "sessions":
		return r.store.SessionView(ctx, id)
	case "turns":
		n, err := number("turn", id)
		if err != nil {
			return nil, err
		}
		return r.store.TurnView(ctx, n)
	case "jobs":
		j, err := r.store.JobNamed(ctx, id)
		if err != nil {
			return nil, err
		}
		return r.schedule.shown(j), nil
	default:
		return r.store.One(ctx, resource, id)
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
