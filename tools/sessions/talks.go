package sessions

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/tools"
)

// mostOfEntry limits the text of one entry in a history, in bytes.
const mostOfEntry = 4_000

// Talks reads hob's conversations.
type Talks interface {
	// Talks lists conversations, newest first, of one kind or of all ("").
	Talks(ctx context.Context, kind string, limit, offset int) ([]tools.Talk, error)
	// Talk reads one by its id or, if it is live, by its key; false if there is none.
	Talk(ctx context.Context, name string) (tools.Talk, bool, error)
	// Lines returns the entries that contain a text ("": all), oldest first, and their total
	// number. offset counts back from the newest.
	Lines(ctx context.Context, session int64, search string, limit, offset int) ([]tools.Line, int, error)
}

// ListInput is the input of sessions_list.
type ListInput struct {
	Limit  int    `json:"limit,omitempty" jsonschema:"how many" default:"20" min:"1" max:"200"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many to leave out, 0-based" min:"0"`
	Kind   string `json:"kind,omitempty" jsonschema:"only these" enum:"main,chat,job,group,thread,hook,watch,child"`
}

// ListOutput is the output of sessions_list.
type ListOutput struct {
	Sessions []tools.Talk `json:"sessions" jsonschema:"newest first"`
	Next     int          `json:"next,omitempty" jsonschema:"offset to continue with; left out at the end"`
}

// NewSessionsList builds the tool sessions_list.
func NewSessionsList(t Talks) tools.Tool {
	return tools.New[ListInput, ListOutput](tools.Spec{
		Name: "sessions_list", Group: "sessions", ReadOnly: true, Example: "--kind job",
		Description: "List hob's conversations, newest first.",
	}, func(_ context.Context, _ tools.Call, in ListInput) (tools.Intent, error) {
		return readIntent("sessions_list", "list conversations", in)
	}, func(ctx context.Context, call tools.Call, in ListInput, _ tools.Intent) (tools.Result, error) {
		return list(ctx, t, call, in)
	})
}

// readIntent is the intent of a call that reads hob's own rows.
func readIntent(tool, summary string, in any) (tools.Intent, error) {
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Args any    `json:"args"`
	}{tool, in})
	return tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Sessions}, Summary: summary, Canonical: canonical}, err
}

// list shows one page of the conversations.
func list(ctx context.Context, t Talks, call tools.Call, in ListInput) (tools.Result, error) {
	// One more than the limit shows whether there is a next page.
	found, err := t.Talks(ctx, in.Kind, in.Limit+1, in.Offset)
	if err != nil {
		return tools.Result{}, fmt.Errorf("list conversations: %w", err)
	}
	data := ListOutput{Sessions: found}
	if len(found) > in.Limit {
		data.Sessions, data.Next = found[:in.Limit], in.Offset+in.Limit
	}
	var b strings.Builder
	foreign := ""
	for _, s := range data.Sessions {
		fmt.Fprintf(&b, "%d  %s  %s  %s  %d messages%s\n", s.ID, s.Key, s.Kind, call.Shown(s.Created), s.Messages, about(s))
		foreign = cmp.Or(foreign, s.ForeignTitle()) // a stranger's name, or what a model wrote
	}
	switch {
	case len(data.Sessions) == 0:
		b.WriteString("there are no such conversations")
	case data.Next > 0:
		fmt.Fprintf(&b, "(continue with offset=%d)", data.Next)
	default:
		b.WriteString("(end of the list)")
	}
	return tools.Result{Content: b.String(), Data: data, Foreign: foreign}, nil
}

// about adds state, foreign text and title to a conversation in a list.
func about(s tools.Talk) string {
	text := ""
	if !s.Live {
		text += ", ended"
	}
	if s.Trust != event.Owner {
		text += ", has foreign text"
	}
	if s.Title != "" {
		text += ": " + s.Title
	}
	return text
}

// HistoryInput is the input of sessions_history.
type HistoryInput struct {
	Session string `json:"session_id" jsonschema:"id, or key of a live one" min:"1"`
	Limit   int    `json:"limit,omitempty" jsonschema:"entries" default:"50" min:"1" max:"500"`
	Offset  int    `json:"offset,omitempty" jsonschema:"newest entries to leave out, 0-based" min:"0"`
	Search  string `json:"search,omitempty" jsonschema:"only entries with this text"`
}

// HistoryOutput is the output of sessions_history.
type HistoryOutput struct {
	Session tools.Talk   `json:"session" jsonschema:"the conversation"`
	Lines   []tools.Line `json:"lines" jsonschema:"oldest first"`
	Total   int          `json:"total" jsonschema:"entries that there are"`
	Next    int          `json:"next,omitempty" jsonschema:"offset of what was said before; left out at the beginning"`
}

// NewSessionsHistory builds the tool sessions_history.
func NewSessionsHistory(t Talks) tools.Tool {
	h := historyTool{t}
	return tools.New[HistoryInput, HistoryOutput](tools.Spec{
		Name: "sessions_history", Group: "sessions", ReadOnly: true, Positional: "session_id", Example: "main --search backup",
		Description: "Read what was said in a conversation, or search it. Begins with the newest entries.",
	}, h.intent, h.run)
}

// historyTool implements sessions_history.
type historyTool struct{ talks Talks }

// intent marks the result as foreign if the other conversation contains foreign text. The text of
// its own conversation is already known to the turn.
func (h historyTool) intent(ctx context.Context, call tools.Call, in HistoryInput) (tools.Intent, error) {
	t, err := known(ctx, h.talks, in.Session)
	if err != nil {
		return tools.Intent{}, err
	}
	i, err := readIntent("sessions_history", "read conversation "+t.Key, in)
	if t.ID != call.Session {
		i.Foreign = t.Foreign()
	}
	return i, err
}

// known finds a conversation. It refuses an unknown name and lists the newest conversations.
func known(ctx context.Context, talks Talks, name string) (tools.Talk, error) {
	t, found, err := talks.Talk(ctx, name)
	if err != nil || found {
		return t, err
	}
	list, err := talks.Talks(ctx, "", 10, 0)
	if err != nil {
		return t, err
	}
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = strconv.FormatInt(one.ID, 10) + " (" + one.Key + ")"
	}
	hint := "there are none yet"
	if len(names) > 0 {
		hint = "a conversation that has ended has its number alone; the newest are " + strings.Join(names, ", ")
	}
	return t, tools.Refuse(tools.NotFound, hint, "there is no conversation %q", shortID(name))
}

// run shows one page of entries.
func (h historyTool) run(ctx context.Context, call tools.Call, in HistoryInput, _ tools.Intent) (tools.Result, error) {
	t, err := known(ctx, h.talks, in.Session)
	if err != nil {
		return tools.Result{}, err
	}
	lines, total, err := h.talks.Lines(ctx, t.ID, in.Search, in.Limit, in.Offset)
	if err != nil {
		return tools.Result{}, fmt.Errorf("read conversation %s: %w", t.Key, err)
	}
	data := HistoryOutput{Session: t, Lines: short(lines), Total: total}
	content := written(data.Lines)
	if end := in.Offset + len(lines); end < total {
		data.Next = end
		content = fmt.Sprintf("(%d earlier entries: offset=%d)\n", total-end, end) + content
	}
	if len(lines) == 0 {
		content = "no entries"
	}
	res := tools.Result{Content: content, Data: data}
	if t.ID != call.Session {
		res.Foreign = t.Foreign()
	}
	return res, nil
}

// short cuts long entries.
func short(lines []tools.Line) []tools.Line {
	out := make([]tools.Line, len(lines))
	for i, l := range lines {
		if n := mostOfEntry; len(l.Text) > n {
			for n > 0 && !utf8.RuneStart(l.Text[n]) {
				n--
			}
			l.Text = fmt.Sprintf("%s… (%d bytes)", l.Text[:n], len(l.Text))
		}
		out[i] = l
	}
	return out
}

// written formats entries for the model.
func written(lines []tools.Line) string {
	var b strings.Builder
	for _, l := range lines {
		who := l.Role
		switch l.Kind {
		case "call":
			who = "calls " + l.Tool
		case "result":
			who = l.Tool + " answers"
			if l.Tool == "" {
				who = "result"
			}
		}
		fmt.Fprintf(&b, "#%d %s: %s\n", l.Seq, who, strings.ReplaceAll(l.Text, "\n", "\n  ")) // indented, so that no line looks like an entry
	}
	return strings.TrimSuffix(b.String(), "\n")
}
