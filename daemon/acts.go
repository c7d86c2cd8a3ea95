package daemon

import (
	"bytes"
	"context"
	"math"
	"strconv"

	"hob/channels/admin"
	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/llm/codex"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/triggers"
)

// acts carries out what the local API asks for beside messages and tools.
type acts struct {
	store     *store.Store
	thread    *agent.Thread
	ids       sys.IDs
	clock     sys.Clock
	reach     func(event.Address) bool
	models    roster
	hooks     *triggers.Webhooks
	admin     admin.Service
	artifacts artifacts.Store
	backups   store.BackupSchedule
}

var _ server.Acts = acts{}

// Act carries out one verb.
func (a acts) Act(ctx context.Context, act api.Act) (any, error) {
	switch act.Resource {
	case "questions":
		return a.question(ctx, act)
	case "sessions":
		return done(a.store.Commands.Archive(ctx, act.ID))
	case "budget":
		return a.budget(ctx, act.Args)
	case "model":
		return a.model(ctx, act)
	case "marks":
		return done(a.store.Questions.Unmark(ctx, act.Args["path"], act.Args["hash"]))
	case "safe-mode":
		return done(a.store.Boots.LeaveSafeMode(ctx))
	case "hooks":
		return a.hooks.Act(ctx, act)
	case "channels", "pairings":
		return a.admin.Act(ctx, act)
	case "backup":
		return a.backup(ctx, act.Args["path"])
	case "send":
		return a.send(ctx, act)
	default:
		return a.row(ctx, act)
	}
}

// result is what an act answers that has nothing to show.
type result struct {
	OK bool `json:"ok"`
}

func done(err error) (any, error) { return result{OK: err == nil}, err }

func (a acts) row(ctx context.Context, act api.Act) (any, error) {
	id, err := number(act.Resource, act.ID)
	if err != nil {
		return nil, err
	}
	switch act.Resource + " " + act.Verb {
	case "turns stop":
		return a.stop(ctx, id)
	case "inbox retry":
		return done(a.store.Inbox.Retry(ctx, id))
	case "inbox drop":
		return done(a.store.Inbox.Drop(ctx, id))
	case "outbox retry":
		return done(a.store.Outbox.RetryOut(ctx, id))
	case "outbox drop":
		return done(a.store.Outbox.DropOut(ctx, id))
	case "grants revoke":
		return done(a.store.Questions.Revoke(ctx, id))
	default:
		return nil, event.NewFault(event.Invalid, "", "%s cannot be asked to %s", act.Resource, act.Verb)
	}
}

// stop ends the running turn, or a parked one.
func (a acts) stop(ctx context.Context, id int64) (any, error) {
	if a.thread.Stop(id) == id {
		return done(nil)
	}
	stopped, err := a.store.Commands.StopTurn(ctx, id)
	if err == nil && !stopped {
		err = event.NewFault(event.Clash, "hob turns list shows what runs and what waits", "turn %d neither runs nor waits", id)
	}
	return done(err)
}

// input is the inbox row of something that the owner did through the local API.
func (a acts) input(kind event.Kind, text string) event.In {
	return event.In{
		Source: "api", ExtID: a.ids.Code(16), Session: "main", Kind: kind, Rank: event.RankOwner, Trust: event.Owner,
		ReplyTo: event.CLI, Parts: event.Say(text), Received: a.clock.Wall(),
	}
}

func (a acts) question(ctx context.Context, act api.Act) (any, error) {
	answer := act.Args["text"]
	switch act.Verb {
	case "deny":
		answer = turn.AnswerNo
	case "approve":
		answer = act.Args["scope"]
		if answer == "" {
			answer = turn.AnswerOnce
		}
	}
	if answer == "" {
		return nil, event.NewFault(event.Invalid, "hob approvals answer CODE TEXT", "the answer is empty")
	}
	q, err := a.store.Commands.AnswerFrom(ctx, a.input(event.Answer, act.Verb+" "+act.ID), act.ID, answer)
	if err != nil {
		return nil, err
	}
	return map[string]any{"code": q.Code, "answer": answer, "turn": q.Turn}, nil
}

func (a acts) budget(ctx context.Context, args map[string]string) (any, error) {
	var c store.Cap
	if v, ok := args["per_day"]; ok {
		money, err := strconv.ParseFloat(v, 64)
		if err != nil || (money < 0 && money != -1) || money > 1e9 || math.IsNaN(money) {
			return nil, event.NewFault(event.Invalid, "an amount such as 5 or 2.50; 0 spends nothing, -1 takes the cap away", "%q is not an amount of money", v)
		}
		micros := int64(money * 1e6)
		c.Micros = &micros
	}
	if v, ok := args["tokens_per_day"]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < -1 {
			return nil, event.NewFault(event.Invalid, "a whole number; 0 spends nothing, -1 takes the cap away", "%q is not a number of tokens", v)
		}
		c.Tokens = &n
	}
	c.Config = args["config"] == "true"
	if c.Micros == nil && c.Tokens == nil && !c.Config {
		return nil, event.NewFault(event.Invalid, "give per_day, tokens_per_day or both, or config", "there is nothing to set")
	}
	return a.store.Spending.SetBudget(ctx, c)
}

func (a acts) send(ctx context.Context, act api.Act) (any, error) {
	to, err := event.ParseAddress(act.Args["to"])
	if err != nil {
		return nil, event.NewFault(event.Invalid, "for example: hob send owner 'hello'", "%v", err)
	}
	if !a.reach(to) {
		return nil, event.NewFault(event.Missing, "[channels."+to.Channel()+"] in config.toml makes one", "there is no channel %s", to.Channel())
	}
	files, err := a.enclosed(ctx, act.Files)
	if err != nil {
		return nil, err
	}
	id, err := a.store.Outbox.Send(ctx, a.input(event.Command, "send "+string(to)), to, act.Args["text"], files...)
	return map[string]any{"outbox": id, "to": to}, err
}

// enclosed makes the bytes of files durable that go with a message.
func (a acts) enclosed(ctx context.Context, list []api.Attachment) ([]event.Enclosed, error) {
	var files []event.Enclosed
	for _, f := range list {
		e, err := a.artifacts.Enclose(ctx, f.Name, int64(len(f.Data)), bytes.NewReader(f.Data))
		if err != nil {
			return nil, err
		}
		files = append(files, e)
	}
	return files, nil
}

// chosen says which model is asked from now on.
type chosen struct {
	Text string `json:"text"`
}

func (a acts) model(ctx context.Context, act api.Act) (any, error) {
	switch act.Verb {
	case "use":
		text, err := a.models.use(ctx, act.ID)
		return chosen{text}, err
	case "test":
		return a.models.try(ctx, act.ID)
	}
	if act.ID != codex.Name {
		return nil, event.NewFault(event.Missing, "only codex has one: hob model login codex", "%s has no sign-in", act.ID)
	}
	switch act.Verb {
	case "login":
		return a.models.account.begin(ctx)
	case "wait":
		return a.models.account.wait(ctx)
	case "cancel":
		a.models.account.Cancel()
		return done(nil)
	case "finish":
		return a.models.account.finish(ctx, act.Args["address"])
	default:
		return a.models.account.logout(ctx)
	}
}
