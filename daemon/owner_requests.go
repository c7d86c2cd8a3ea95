package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"

	"hob/channels/cli"
	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// ownerRequests carries out the owner's messages, answers and stops from the local API.
// Answers and sent texts are committed with an inbox row that names the owner as their author.
type ownerRequests struct {
	cli       *cli.Channel
	store     *store.Store
	thread    *agent.Thread
	ids       sys.IDs
	clock     sys.Clock
	reach     func(event.Address) bool
	artifacts artifacts.Store
	signIns   mcp.SignIns
}

var _ server.Messages = ownerRequests{}

// Post hands a message of the API to the channel cli, which commits it to the inbox. It turns refusals into faults with a hint.
func (a ownerRequests) Post(ctx context.Context, m api.Message) (event.Receipt, error) {
	if finish, taken := a.signIns.Take(ctx, a.input(event.Message, m.Text)); taken {
		return finish(ctx)
	}
	// The channel does not import the API, so it has its own type of a file.
	files := make([]cli.File, len(m.Attachments))
	for i, f := range m.Attachments {
		files[i] = cli.File(f)
	}
	// In a release this is never true: it is a fault that crash tests turn on.
	if r, broken := postBroken(ctx, a.cli, m.Text, m.Session, m.ID, files); broken {
		return r, nil
	}
	r, err := a.cli.PostBegun(ctx, m.Begun, m.Text, m.Session, m.ID, files...)
	switch {
	case errors.Is(err, cli.ErrTooLarge):
		err = &event.Fault{Kind: event.TooLarge, Text: err.Error(), Err: err}
	case errors.Is(err, cli.ErrEmpty), errors.Is(err, cli.ErrSession), errors.Is(err, cli.ErrID), errors.Is(err, cli.ErrCommand):
		err = &event.Fault{Kind: event.Invalid, Text: err.Error(), Err: err}
	}
	return r, err
}

// stop ends a turn that runs or is parked.
func (a ownerRequests) stop(ctx context.Context, id int64) error {
	// A running turn is stopped in memory and ends by itself; a parked one is ended by a commit.
	if a.thread.Stop(id) == id {
		return nil
	}
	stopped, err := a.store.Commands.StopTurn(ctx, id)
	if err == nil && !stopped {
		err = event.NewFault(event.Clash, "hob turns list shows what runs and what waits", "turn %d neither runs nor waits", id)
	}
	return err
}

// input is the inbox row of something that the owner did through the local API.
func (a ownerRequests) input(kind event.Kind, text string) event.In {
	return event.In{
		Source: "api", ExtID: a.ids.Code(16), Session: "main", Kind: kind, Rank: event.RankOwner, Trust: event.Owner,
		ReplyTo: event.CLI, Parts: event.Say(text), Received: a.clock.Wall(),
	}
}

// approve allows the call that a question is about: once, or in the scope that the owner chose.
func (a ownerRequests) approve(ctx context.Context, code string, in api.Approve) (api.Answered, error) {
	return a.answerAs(ctx, "approve", code, cmp.Or(string(in.Scope), turn.AnswerOnce))
}

// deny refuses the call; the turn goes on with that result.
func (a ownerRequests) deny(ctx context.Context, code string) (api.Answered, error) {
	return a.answerAs(ctx, "deny", code, turn.AnswerNo)
}

// answer gives a text to a question that the model has asked.
func (a ownerRequests) answer(ctx context.Context, code string, in api.Answer) (api.Answered, error) {
	if finish, taken := a.signIns.Take(ctx, a.input(event.Answer, in.Text)); taken {
		_, err := finish(ctx)
		return api.Answered{Answer: "signed in", Code: code}, err
	}
	return a.answerAs(ctx, "answer", code, in.Text)
}

// answerAs closes a question; verb is how the owner's command reads in the inbox.
func (a ownerRequests) answerAs(ctx context.Context, verb, code, answer string) (api.Answered, error) {
	// One commit stores the command, closes the question and lets the turn go on.
	q, err := a.store.Commands.AnswerFrom(ctx, a.input(event.Answer, verb+" "+code), code, answer)
	if err != nil {
		return api.Answered{}, err
	}
	return api.Answered{Answer: answer, Code: q.Code, Turn: q.Turn}, nil
}

// Send queues a text with files for an address.
func (a ownerRequests) Send(ctx context.Context, m api.Outgoing) (api.Sent, error) {
	to, err := event.ParseAddress(m.To)
	if err != nil {
		return api.Sent{}, event.NewFault(event.Invalid, "for example: hob send owner 'hello'", "%v", err)
	}
	// The address is checked before the files are stored, so that a typing error leaves nothing behind.
	if !a.reach(to) {
		return api.Sent{}, event.NewFault(event.Missing, "hob channels list shows the channels; hob channels add makes one", "there is no channel %s", to.Channel())
	}
	var files []event.Enclosed
	for _, f := range m.Attachments { // their bytes are stored before the message is
		e, err := a.artifacts.Enclose(ctx, f.Name, int64(len(f.Data)), bytes.NewReader(f.Data))
		if err != nil {
			return api.Sent{}, err
		}
		files = append(files, e)
	}
	id, err := a.store.Outbox.Send(ctx, a.input(event.Command, "send "+string(to)), to, m.Text, files...)
	return api.Sent{Outbox: id, To: to}, err
}

// capOf reads the caps of a budget.
// A nil cap is not changed; Config returns to the caps of the config.
func capOf(in api.BudgetChange) (store.Cap, error) {
	c := store.Cap{Config: in.Config == "true"}
	if in.PerDay != nil {
		money, err := strconv.ParseFloat(*in.PerDay, 64)
		if err != nil || (money < 0 && money != -1) || money > 1e9 || math.IsNaN(money) {
			return c, event.NewFault(event.Invalid, "an amount such as 5 or 2.50; 0 spends nothing, -1 takes the cap away", "%q is not an amount of money", *in.PerDay)
		}
		micros := int64(math.Round(money * 1e6))
		c.Micros = &micros
	}
	if in.TokensPerDay != nil {
		n, err := strconv.ParseInt(*in.TokensPerDay, 10, 64)
		if err != nil || n < -1 {
			return c, event.NewFault(event.Invalid, "a whole number; 0 spends nothing, -1 takes the cap away", "%q is not a number of tokens", *in.TokensPerDay)
		}
		c.Tokens = &n
	}
	if c.Micros == nil && c.Tokens == nil && !c.Config {
		return c, event.NewFault(event.Invalid, "give per_day, tokens_per_day or both, or config", "there is nothing to set")
	}
	return c, nil
}
