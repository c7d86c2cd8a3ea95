package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/tools"
)

// History reads what is needed of a session beside its transcript.
type History interface {
	// Recent reads the newest turns of a turn's session and the turn itself, oldest first.
	Recent(ctx context.Context, id int64) ([]llm.Item, error)
	// Lasting reads the rows that no summary may lose, and the turns of the session that wait.
	Lasting(ctx context.Context, session int64) (turn.Lasting, error)
	// Compacted returns what the last compaction of a session measured, and whether the owner has asked for the next one.
	Compacted(ctx context.Context, session int64) (turn.Compacted, error)
	// Typed reads the texts that the owner typed in a session, also those before a cut.
	Typed(ctx context.Context, session int64) ([]string, error)
}

// Compaction begins when the next request would fill more than compactAt percent of the room for input. It ends at compactTo percent.
// keepNewest is the part of the window, in percent, that a summary does not cover. summaryTokens limits a summary that a model writes.
const (
	compactAt     = 85
	compactTo     = 45
	keepNewest    = 25
	summaryTokens = 2_000
)

// room is how many tokens of input a request to a model may have: its window without the reserve for the answer.
func room(info llm.Info) int { return info.Context - min(info.MaxOutput, info.Context/8) }

// compaction shortens the conversation of one turn.
type compaction struct {
	calls   modelCalls
	run     *run
	st      turn.Snapshot
	info    llm.Info // of the model whose window counts
	head    prefix
	items   []llm.Item
	lasting turn.Lasting
	past    turn.Compacted
	density density
}

// density converts bytes of a request to tokens, by the last request that a provider has counted.
type density struct{ bytes, tokens int }

// tokensOf estimates the tokens of n bytes.
func (d density) tokensOf(n int) int {
	if d.bytes <= 0 || d.tokens <= 0 {
		return n / usualBytesPerToken
	}
	return int(int64(n) * int64(d.tokens) / int64(d.bytes))
}

// bytesFor is the reverse of tokensOf.
func (d density) bytesFor(tokens int) int {
	if d.bytes <= 0 || d.tokens <= 0 {
		return tokens * usualBytesPerToken
	}
	return int(int64(tokens) * int64(d.bytes) / int64(d.tokens))
}

// compactIfFull compacts the session when its next request would fill the window of info. With force, a provider has refused the
// request as too large, so it must shrink in any case. It returns true when something was committed.
func (r modelCalls) compactIfFull(ctx context.Context, st turn.Snapshot, info llm.Info, force bool) (bool, error) {
	if info.Interpreter || info.Context <= 0 {
		return false, nil
	}
	c := compaction{calls: r, run: r.run, st: st, info: info}
	now, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	if c.past.Asked {
		if done, err := c.summarise(ctx, c.bytes()/4); done || err != nil {
			return done, err
		}
	}
	if force || now > room(info)*compactAt/100 {
		return c.shorten(ctx, min(now, room(info))*compactTo/100)
	}
	return false, nil
}

// read reads the transcript and returns the estimated tokens of the next request.
func (c *compaction) read(ctx context.Context) (tokens int, err error) {
	items, err := c.calls.transcript(ctx, c.st.Turn.Session)
	if err != nil {
		return 0, err
	}
	c.items = slices.Clone(items) // trim changes them
	if c.head, err = c.calls.prefixOf(ctx, c.st, c.info); err != nil {
		return 0, err
	}
	if c.past, err = c.run.thread.History.Compacted(ctx, c.st.Turn.Session); err != nil {
		return 0, fmt.Errorf("read the last compaction: %w", err)
	}
	size := sizeOf(c.items, c.head, c.info)
	if size.known == 0 {
		c.density = density{c.past.Bytes, c.past.Tokens}
		return c.density.tokensOf(size.bytes), nil
	}
	c.density = density{bytes: c.bytes() - size.bytes, tokens: size.known}
	return size.known + c.density.tokensOf(size.bytes), nil
}

// bytes is the size of the whole request.
func (c *compaction) bytes() int { return c.head.bytes() + bytesOfAll(c.items, c.info) }

// estimate is the estimated tokens of the whole request, counted from its bytes.
func (c *compaction) estimate() int { return c.density.tokensOf(c.bytes()) }

// shorten trims, and summarises when that is not enough. target is in tokens.
// Trimming is tried first, because it needs no model and every result can still be read by its handle.
func (c *compaction) shorten(ctx context.Context, target int) (done bool, err error) {
	if done, err = c.trim(ctx); err != nil {
		return false, err
	}
	if done && c.estimate() <= target {
		return true, nil
	}
	summarised, err := c.summarise(ctx, c.density.bytesFor(c.info.Context*keepNewest/100))
	return done || summarised, err
}

// trim replaces old results by handles, all in one commit, so that the provider's cache is lost only once.
func (c *compaction) trim(ctx context.Context) (bool, error) {
	list := turn.Trimmable(c.items, c.run.id, bytesIn(c.info))
	if len(list) == 0 {
		return false, nil
	}
	commit := c.commitOf(turn.Compaction{How: turn.ByTrim, Handles: map[int64]string{}})
	for _, it := range list {
		handle, err := c.handle(ctx, it)
		if err != nil {
			return false, err
		}
		commit.Compact.Handles[it.Seq] = handle
	}
	if err := c.commit(ctx, commit); err != nil {
		return false, err
	}
	for i, it := range c.items {
		c.items[i].Handle, c.items[i].Tokens = cmp.Or(commit.Compact.Handles[it.Seq], it.Handle), 0
	}
	return true, nil
}

// handle stores a result as an artifact and returns the line that replaces it. If the transcript holds only the beginning of the result,
// the artifact exists already. The line names the images and files of the result, which are artifacts of their own.
func (c *compaction) handle(ctx context.Context, it llm.Item) (string, error) {
	text, more := event.TextOf(it.Parts), ""
	id, size := "", int64(len(text))
	for _, p := range it.Parts {
		switch {
		case p.Artifact == "":
		case p.Kind == event.Text:
			id, size = p.Artifact, p.Size
		default:
			more += fmt.Sprintf("; %s %s, artifact %s", p.Kind, p.Name, p.Artifact)
		}
	}
	var err error
	switch {
	case text == "":
		return fmt.Sprintf("[result of %s, left out%s]", it.Tool, more), nil
	case id == "":
		id, err = c.store(ctx, it, text)
	}
	return fmt.Sprintf("[result of %s, %d KB, artifact %s: page with result_read%s]", it.Tool, (size+1023)/1024, id, more), err
}

// store stores the text of a result as an artifact. One with foreign text is stored as foreign.
func (c *compaction) store(ctx context.Context, it llm.Item, text string) (id string, err error) {
	name, keep := it.Tool+"-"+it.CallID+".txt", c.run.thread.Dispatch.Artifacts
	if it.Trust == event.Owner {
		id, err = keep.Keep(ctx, name, []byte(text))
	} else {
		id, err = keep.KeepForeign(ctx, name, "a result of "+it.Tool, []byte(text))
	}
	if err != nil {
		return "", fmt.Errorf("store a result of %s: %w", it.Tool, err)
	}
	return id, nil
}

// commit writes one step of the compaction. The rows that the claim of the turn brought are then out of date.
func (c *compaction) commit(ctx context.Context, commit turn.Commit) error {
	fail.Point("compact.before")
	err := c.run.commit(ctx, commit)
	c.run.opening = nil
	fail.Point("compact.after")
	return err
}

// commitOf adds the size before the compaction, by which later requests are estimated.
func (c *compaction) commitOf(k turn.Compaction) turn.Commit {
	k.Bytes = c.bytes()
	if c.density.tokens > 0 {
		k.Tokens = c.estimate()
	}
	return turn.Commit{Compact: &k}
}

// summarise replaces the items before a cut by summaries, one for each class of trust, and by the rows that no summary may lose.
// About keep bytes stay whole.
func (c *compaction) summarise(ctx context.Context, keep int) (done bool, err error) {
	if c.lasting, err = c.run.thread.History.Lasting(ctx, c.st.Turn.Session); err != nil {
		return false, fmt.Errorf("read rows of the session: %w", err)
	}
	// The items of a turn that waits are not covered: its calls have no results yet.
	waiting := func(id int64) bool { return id != c.run.id && slices.Contains(c.lasting.Waiting, id) }
	cut, ok := turn.Cut(c.items, waiting, bytesIn(c.info), keep)
	if !ok {
		return false, nil
	}
	covered := c.items[:cut]
	k := turn.Compaction{How: turn.ByRows, Cut: c.items[cut].Seq}
	for _, it := range covered {
		if it.Kind != llm.Summary {
			k.Covered++
		}
	}
	for _, class := range []turn.Class{turn.Own, turn.Foreign} {
		list := class.Of(c.lasting.Remembered(covered))
		if len(list) == 0 {
			continue
		}
		text, byModel, err := c.summary(ctx, list)
		if err != nil {
			return false, err
		}
		if byModel {
			k.How = turn.ByModel
		}
		k.Summaries = append(k.Summaries, class.SummaryItem(c.st.Turn, text))
	}
	if text := c.lasting.Text(c.items[cut].Seq); text != "" {
		k.Summaries = append(k.Summaries, turn.LastingItem(c.st.Turn, text))
	}
	commit := c.commitOf(k)
	commit.Changes = c.notice(k)
	return true, c.commit(ctx, commit)
}

// summary asks the model for a summary of items. When the model cannot, or its summary is not much shorter, the summary is made
// from the items alone.
func (c *compaction) summary(ctx context.Context, items []llm.Item) (text string, byModel bool, err error) {
	size := bytesOfAll(items, c.info)
	// The limit is the smallest of a third of the text, a sixteenth of the window and 16 KB.
	limit := min(size/3, c.density.bytesFor(c.info.Context/16), 16<<10)
	if size > 2_000 {
		record := turn.Record(items, c.density.bytesFor(room(c.info)-summaryTokens)*3/4)
		system := turn.SummaryRequest
		if c.past.Matters != "" {
			system += "\n\nThe owner says what matters: " + c.past.Matters
		}
		text, err := c.run.askAlone(ctx, system, record, summaryTokens)
		text = strings.TrimSpace(text)
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, turn.ErrStale)):
			return "", false, err
		case err != nil:
			c.run.thread.Log.Warn("no model summarised the conversation; the summary is made from rows", "turn", c.run.id, "err", err)
		case len(text) > 0 && len(text) <= max(limit, size/3):
			fail.Point("compact.summarised")
			return text, true, nil
		}
	}
	return turn.Digest(items, c.run.thread.Dispatch.changes, limit), false, nil
}

// changes reports whether calls of a tool can change anything.
func (d *Dispatch) changes(name string) bool {
	tool, ok := d.Set.Find(name)
	return !ok || !tool.Spec().ReadOnly
}

// shownParts is how many of a request's largest parts an error names.
const shownParts = 3

// oversizeError is a request that is too large for every model, with what the owner can change about it.
type oversizeError struct {
	error
	advice string
}

func (e *oversizeError) Unwrap() error { return e.error }

// explained adds advice to the error for a request that is too large: its largest parts, and why they cannot be summarised. Other errors
// pass unchanged.
func (r modelCalls) explained(ctx context.Context, a attempt, fault error) error {
	if llm.FaultOf(fault) != llm.TooLarge {
		return fault
	}
	advice := "its largest parts: " + largest(a.req, a.info)
	lasting, err := r.run.thread.History.Lasting(ctx, a.st.Turn.Session)
	if err != nil {
		r.run.thread.Log.Warn("read what keeps a conversation from being summarised", "turn", r.run.id, "err", err)
	}
	if why := lasting.Blocks(r.run.id); why != "" {
		advice += "; what was said since then cannot be summarised: " + why
	}
	return &oversizeError{fault, advice}
}

// largest names the largest parts of a request with their sizes, and what makes them smaller.
func largest(req llm.Request, info llm.Info) string {
	type part struct {
		name  string
		bytes int
	}
	list := []part{{"the system text (shorten AGENTS.md, MEMORY.md and the like in the workspace)", len(req.System)}}
	list = append(list, part{"the descriptions of the tools (fewer with [tools] deny)", prefix{tools: req.Tools}.bytes()})
	for _, m := range req.Messages {
		name := "a message (send it in parts, or as a file)"
		switch m.Role {
		case llm.ToolRole:
			name = "a result of a tool (ask for less of it)"
		case llm.Assistant:
			name = "an answer of the model (/new leaves it behind)"
		}
		list = append(list, part{name, bytesOf(llm.Item{Parts: m.Parts}, info)})
	}
	slices.SortStableFunc(list, func(a, b part) int { return b.bytes - a.bytes })
	var words []string
	for _, p := range list[:min(shownParts, len(list))] {
		words = append(words, fmt.Sprintf("%s, %d KB", p.name, (p.bytes+1023)/1024))
	}
	return strings.Join(words, "; ")
}

// notice tells the owner about a summary in one line, where the turn answers to the owner.
func (c *compaction) notice(k turn.Compaction) []tools.Change {
	t := c.st.Turn
	if t.Parent != 0 || t.Asker != event.Owner || t.ReplyTo == event.ToNone {
		return nil
	}
	return []tools.Change{event.Out{
		Key: fmt.Sprintf("compaction:%d:%d", t.Session, k.Cut), Cause: event.Cause{Kind: event.ByTurn, ID: t.ID}, To: c.run.ownerAddress(t),
		Body: fmt.Sprintf("Summarised the first %d messages; /why for details.", k.Covered), Urgency: event.Normal,
	}}
}
