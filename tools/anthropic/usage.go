package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hob/daemon/netguard"
	"hob/tools"
)

// Input is the input of anthropic_usage.
type Input struct {
	Report string `json:"report" jsonschema:"tokens, money, or Claude Code" enum:"usage,cost,claude_code"`
	From   string `json:"from,omitempty" jsonschema:"first day in UTC, 2026-03-29; default six days before to"`
	To     string `json:"to,omitempty" jsonschema:"last day; default today"`
}

// Output is the output of anthropic_usage.
type Output struct {
	Report string   `json:"report" jsonschema:"which report"`
	From   string   `json:"from" jsonschema:"first day, in UTC"`
	To     string   `json:"to" jsonschema:"last day"`
	Total  Line     `json:"total" jsonschema:"sum of the span"`
	By     []Line   `json:"by" jsonschema:"by model, kind of cost or person; most first"`
	Days   []Line   `json:"days" jsonschema:"days on which something was used"`
	Notes  []string `json:"notes,omitempty" jsonschema:"what is left out"`
}

// Limits of a result.
const (
	maxNames = 5_000 // names that are listed separately
	maxLines = 60    // lines that are shown
	maxName  = 120   // characters
)

// New builds the tool anthropic_usage. k is the account with the admin key.
func New(k tools.Account[*Client]) tools.Tool {
	u := user{k}
	return tools.Needing(tools.New[Input, Output](tools.Spec{
		Name: Account, Group: "spending", ReadOnly: true, Positional: "report", Example: "cost --from 2026-03-01 --to 2026-03-31",
		Description: "Usage and cost of the owner's organization at Anthropic, per day and model, kind of cost or person. Days are in UTC.",
	}, u.intent, u.run), "there is no admin key; add one with: hob account add "+Account, u.there)
}

// user implements anthropic_usage.
type user struct{ key tools.Account[*Client] }

func (u user) there() bool { return u.key != nil && u.key.Set() }

// intent counts the result as foreign, because other members of the organization name keys and workspaces.
func (u user) intent(_ context.Context, call tools.Call, in Input) (tools.Intent, error) {
	if !u.there() {
		return tools.Intent{}, tools.Refuse(tools.ConfigError, "the owner adds it with: hob account add "+Account, "there is no admin key")
	}
	_, from, to, err := in.span(call.Now)
	if err != nil {
		return tools.Intent{}, err
	}
	raw, err := tools.CanonicalCall(Account, in)
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.AccountRead}, Accounts: []string{Account}, Foreign: "Anthropic's reports", Canonical: raw,
		Summary: "read Anthropic's report " + in.Report + " from " + from.Format(day) + " to " + to.Format(day),
	}, err
}

// span returns the report and its days.
func (in Input) span(now time.Time) (r report, from, to time.Time, err error) {
	all := reports()
	i := slices.IndexFunc(all, func(r report) bool { return r.name == in.Report })
	if i < 0 {
		return r, from, to, tools.Refuse(tools.Validation, "want usage, cost or claude_code", "report: there is no %q", in.Report)
	}
	r, to = all[i], Day(now)
	if in.To != "" {
		if to, err = parseDay("to", in.To); err != nil {
			return r, from, to, err
		}
	}
	from = to.AddDate(0, 0, -6)
	if in.From != "" {
		if from, err = parseDay("from", in.From); err != nil {
			return r, from, to, err
		}
	}
	switch {
	case to.Before(from):
		return r, from, to, tools.Refuse(tools.Validation, "swap them", "to: the span ends before it begins")
	case from.After(Day(now)):
		return r, from, to, tools.Refuse(tools.Validation, "reports are about the past", "from: the span begins in the future")
	case int(to.Sub(from).Hours()/24) >= r.days:
		return r, from, to, tools.Refuse(tools.Validation, "ask for a shorter span", "to: the report %s covers %d days at most", r.name, r.days)
	}
	if today := Day(now); to.After(today) {
		to = today
	}
	return r, from, to, nil
}

func parseDay(field, s string) (time.Time, error) {
	t, err := time.Parse(day, s)
	if err != nil {
		return t, tools.Refuse(tools.Validation, "want a day such as 2026-03-29", "%s: %q is not a day", field, netguard.OneLine(s, 40))
	}
	return t, nil
}

func (u user) run(ctx context.Context, call tools.Call, in Input, _ tools.Intent) (tools.Result, error) {
	r, from, to, err := in.span(call.Now)
	if err != nil {
		return tools.Result{}, err
	}
	c, err := u.key.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	out := Output{Report: r.name, From: from.Format(day), To: to.Format(day)}
	by, days := map[string]*Line{}, map[string]*Line{}
	err = c.each(ctx, r, from, to, func(at string, l Line) {
		if at < out.From || at > out.To {
			return // it was not asked for
		}
		name := netguard.OneLine(l.Name, maxName)
		if by[name] == nil && len(by) >= maxNames {
			name = "others"
		}
		out.Total.add(l)
		into(by, name).add(l)
		into(days, at).add(l)
	})
	if err != nil {
		return tools.Result{}, err
	}
	out.By = sorted(by, func(a, b *Line) int { return cmp.Or(-a.compare(b), cmp.Compare(a.Name, b.Name)) })
	out.Days = sorted(days, func(a, b *Line) int { return cmp.Compare(b.Name, a.Name) })
	for what, list := range map[string]*[]Line{"lines": &out.By, "days": &out.Days} {
		if more := len(*list) - maxLines; more > 0 {
			*list = (*list)[:maxLines]
			out.Notes = append(out.Notes, fmt.Sprintf("%d more %s are in the total only", more, what))
		}
	}
	slices.Sort(out.Notes)
	slices.Reverse(out.Days)
	return tools.Result{Content: out.text(), Data: out}, nil
}

// into returns the line for a name.
func into(lines map[string]*Line, name string) *Line {
	if lines[name] == nil {
		lines[name] = &Line{Name: name}
	}
	return lines[name]
}

func sorted(lines map[string]*Line, order func(a, b *Line) int) []Line {
	out := []Line{}
	for _, l := range slices.SortedFunc(maps.Values(lines), order) {
		out = append(out, *l)
	}
	return out
}

// compare orders lines by cost, and without costs by tokens.
func (l *Line) compare(o *Line) int {
	if l.cents != nil && o.cents != nil {
		if n := l.cents.Cmp(o.cents); n != 0 {
			return n
		}
	}
	return cmp.Compare(l.Input+l.CacheRead+l.CacheWrite+l.Output, o.Input+o.CacheRead+o.CacheWrite+o.Output)
}

// text formats the result.
func (o Output) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s to %s, days in UTC\n", o.Report, o.From, o.To)
	if len(o.By) == 0 {
		return b.String() + "nothing was used"
	}
	fmt.Fprintf(&b, "total: %s\n", o.Total.text())
	for _, part := range []struct {
		name string
		list []Line
	}{{map[string]string{"usage": "by model", "cost": "by kind of cost", "claude_code": "by person"}[o.Report], o.By}, {"by day", o.Days}} {
		b.WriteString(part.name + ":\n")
		for _, l := range part.list {
			b.WriteString("- " + l.Name + ": " + l.text() + "\n")
		}
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// text formats the numbers that a line has.
func (l Line) text() string {
	var parts []string
	if l.USD != "" {
		parts = append(parts, "$"+l.USD)
	}
	for _, n := range []struct {
		name string
		n    int64
	}{
		{"input", l.Input},
		{"cache read", l.CacheRead},
		{"cache write", l.CacheWrite},
		{"output", l.Output},
		{"web searches", l.Searches},
		{"sessions", l.Sessions},
		{"lines added", l.Added},
		{"lines removed", l.Removed},
		{"commits", l.Commits},
		{"pull requests", l.Requests},
	} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", n.name, n.n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "0")
}
