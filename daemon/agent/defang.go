package agent

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/policy"
	"hob/tools"
)

// defanger makes the Defanger for what the turn sends. more are the items of the commit that is about to be written. If the
// session cannot be read, no address is exempt.
func (r *run) defanger(ctx context.Context, guarded bool, more []llm.Item) turn.Defanger {
	if !guarded {
		return turn.Defanger{}
	}
	var items []llm.Item
	var err error
	switch {
	case r.opening != nil:
		items = slices.Clip(r.opening.Transcript)
	case r.thread.reads() == turn.RecentTurns:
		items, err = r.thread.History.Recent(context.WithoutCancel(ctx), r.id)
	default:
		items, err = r.thread.Turns.Transcript(context.WithoutCancel(ctx), r.turn.Session)
	}
	if err != nil {
		r.thread.Log.Warn("all addresses of a turn are defanged: its session cannot be read", "turn", r.id, "err", err)
	}
	return turn.NewDefanger(true, append(items, more...))
}

// defanged returns a commit in which no untrusted address is a link. Everything that a turn sends to people passes through
// here or through stream. The transcript items stay as they are.
func (r *run) defanged(ctx context.Context, c turn.Commit) turn.Commit {
	// Nothing to change: the turn has read no foreign text, or the commit has nothing that people see.
	if !r.turn.Untrusted() && c.Taint == "" || c.End == nil && c.Question == nil && len(c.Changes)+len(c.Events) == 0 {
		return c
	}
	s := r.defanger(ctx, true, c.Items)
	if c.End != nil {
		end := *c.End
		end.Text, end.Why, end.Fault = s.Defang(end.Text), s.Defang(end.Why), s.Defang(end.Fault)
		c.End = &end
	}
	if c.Question != nil {
		q := *c.Question
		q.Text, q.Options = s.Defang(q.Text), defangAll(s, q.Options)
		c.Question = &q
	}
	c.Changes, c.Events = slices.Clone(c.Changes), slices.Clone(c.Events)
	for i, change := range c.Changes {
		c.Changes[i] = defangChange(s, change)
	}
	for i, e := range c.Events {
		e.Data = maps.Clone(e.Data)
		for key, value := range e.Data {
			if text, ok := value.(string); ok {
				e.Data[key] = s.Defang(text)
			}
		}
		c.Events[i] = e
	}
	return c
}

// defangChange does the same for one change: an outgoing message or an audit row.
func defangChange(s turn.Defanger, change tools.Change) tools.Change {
	switch c := change.(type) {
	case event.Out:
		c.Body, c.Buttons, c.Files = s.Defang(c.Body), defangAll(s, c.Buttons), slices.Clone(c.Files)
		for i := range c.Files {
			c.Files[i].Name = defangFileName(c.Files[i].Name)
		}
		return c
	case policy.Entry:
		c.Summary = s.Defang(c.Summary)
		return c
	}
	return change
}

// defangFileName replaces dots and @ in a file name, but keeps its extension. Some chats make links of names such as a.com.txt.
func defangFileName(name string) string {
	end := max(strings.LastIndexByte(name, '.'), 0)
	return strings.NewReplacer(".", "_", "@", "_", "。", "_", "．", "_", "｡", "_").Replace(name[:end]) + name[end:]
}

// defangAll returns a copy, because the caller may keep the list that it passed.
func defangAll(s turn.Defanger, list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = s.Defang(list[i])
	}
	return list
}

// live returns the function that publishes what a call prints while it runs. Foreign addresses in it are defanged.
func live(ctx context.Context, r toolCalls, j Judged, step int) func(string) {
	s := sync.OnceValue(func() turn.Defanger {
		return r.run.defanger(ctx, r.st.Turn.Untrusted() || policy.ForeignSource(j.Intent) != "", nil)
	})
	return func(output string) {
		r.run.thread.Feed.Publish(event.Piece{Turn: r.run.id, Step: step, Session: r.st.Turn.Key, Output: s().Defang(output)})
	}
}

// stream publishes the pieces of an answer on the live feed. If the answer may contain untrusted text, it holds each piece back
// until the end of a word, so that an address is defanged as a whole. end publishes the rest. last is the newest event before the step.
// The pieces pass through Hidden, so that nobody who follows the feed sees a secret.
func (r modelCalls) stream(ctx context.Context, st turn.Snapshot, n int, last int64) (piece func(llm.Delta), end func()) {
	held, s := "", r.run.defanger(ctx, st.Turn.Untrusted(), nil)
	out := r.run.thread.Hidden(&published{feed: r.run.thread.Feed, next: event.Piece{Turn: r.run.id, Step: n, Session: st.Turn.Key, After: last}})
	publish := func(text string) { _, _ = io.WriteString(out, text) } // the feed takes everything
	return func(d llm.Delta) {
		r.run.thread.progress()
		if !s.Guarded {
			publish(d.Text)
			return
		}
		held += d.Text
		if at := strings.LastIndexFunc(held, unicode.IsSpace); at >= 0 {
			_, size := utf8.DecodeRuneInString(held[at:])
			publish(s.Defang(held[:at+size]))
			held = held[at+size:]
		}
	}, func() { publish(s.Defang(held)); _ = out.Close() }
}

// published writes to the live feed.
type published struct {
	feed *event.Feed
	next event.Piece
}

// Write publishes a piece.
func (p *published) Write(text []byte) (int, error) {
	if len(text) > 0 {
		p.next.Text = string(text)
		p.feed.Publish(p.next)
		p.next.Offset += len(text)
	}
	return len(text), nil
}
