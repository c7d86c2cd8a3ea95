package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/console"
)

// timeline prints a turn with its inbox rows, steps, calls, questions and messages. The API returns these as
// separate lists; the timeline merges them by time, and puts what belongs to a step below it.
type timeline struct{ api.TurnDetail }

// timelineEntry is one entry of the timeline: its line, and what belongs to it below. The lines below it have
// no time of their own.
type timelineEntry struct {
	at    time.Time
	line  string
	below []string
}

// page is the timeline: a head, what happened when, and how it ended.
func (t timeline) page(p layout) string {
	var b strings.Builder
	fmt.Fprintln(&b, p.line(fmt.Sprintf("turn %d · %s · session %s · asked by %s", t.ID, t.State, t.Session, t.Asker)))
	fmt.Fprintln(&b, p.line("begun "+p.at(t.Started)+t.span(p)))
	fmt.Fprintln(&b)
	// A turn that waits for an answer can take days, so a new day gets a line of its own.
	day := t.Started.In(p.zone).Format(time.DateOnly)
	for _, m := range t.moments(p) {
		// The width of a time of day.
		when := strings.Repeat(" ", 8)
		if !m.at.IsZero() {
			if d := m.at.In(p.zone).Format(time.DateOnly); d != day {
				day = d
				fmt.Fprintln(&b, d)
			}
			when = p.clock(m.at)
		}
		fmt.Fprintln(&b, p.line(when+"  "+m.line))
		for _, text := range m.below {
			fmt.Fprintln(&b, p.line("            "+text))
		}
	}
	fmt.Fprintln(&b)
	fmt.Fprintln(&b, p.line(t.end()))
	return b.String()
}

// span says when the turn ended.
func (t timeline) span(p layout) string {
	if t.Ended.IsZero() {
		return " · not ended yet"
	}
	return " · ended " + p.at(t.Ended)
}

// end says how it ended and what it cost in all. An unknown cost is not shown as 0: the price of the model may
// not be known.
func (t timeline) end() string {
	// Every step is a request to a model or a call of a tool.
	requests, calls := int64(0), int64(0)
	for _, s := range t.Control {
		if s.Kind == "model" {
			requests++
		} else {
			calls++
		}
	}
	parts := []string{string(t.State)}
	switch {
	// The reason of a parked turn says what it waits for, so the state is not needed.
	case t.State == "waiting" && t.Why != "":
		parts[0] = console.ToYou(t.Why)
	case t.Why != "":
		parts[0] += ": " + console.ToYou(t.Why)
	}
	parts = append(parts, "ran "+console.Span(t.RunningMS), console.Plural(requests, "model request"), console.Plural(calls, "call"))
	if t.Attempts > 1 {
		parts = append(parts, console.Plural(int64(t.Attempts), "attempt"))
	}
	if t.Tokens > 0 {
		parts = append(parts, console.Thousands(t.Tokens)+" tokens")
	}
	switch {
	case t.Cost < 0:
		parts = append(parts, "cost unknown")
	// While no request of an unfinished turn has ended, nothing is known.
	case t.Cost > 0 || !t.Ended.IsZero():
		parts = append(parts, "cost "+exactMoney(int64(t.Cost)))
	}
	return strings.Join(parts, " · ")
}

// exactMoney shows amounts below a cent with four decimals.
// micros are millionths of the provider's currency.
func exactMoney(micros int64) string {
	if micros%10_000 == 0 {
		return console.Money(micros)
	}
	return fmt.Sprintf("%.4f", float64(micros)/1e6)
}

// moments are all entries by time. A step without a time of its own follows the step before it. Messages and
// inbox rows have times, but several can have the same one; the stable sort then keeps the order in which they
// were added.
func (t timeline) moments(p layout) []timelineEntry {
	var list []timelineEntry
	for _, in := range t.Inbox {
		who := in.Source
		if in.Sender != "" {
			who += ", " + in.Sender
		}
		list = append(list, timelineEntry{at: in.Received, line: fmt.Sprintf("%s from %s (inbox %d): %s", in.Kind, who, in.Seq, in.Text)})
	}
	last := t.Started
	for _, s := range t.Control {
		m := t.step(p, s)
		// A step that was refused never started, and a clock may have been set back. The order of the steps is
		// certain, so it wins.
		if m.at.IsZero() || m.at.Before(last) {
			m.at = last
		}
		last = m.at
		list = append(list, m)
	}
	for _, o := range t.Outbox {
		list = append(list, t.sent(o))
	}
	slices.SortStableFunc(list, func(a, b timelineEntry) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	return list
}

// step draws a request to a model or a call of a tool.
func (t timeline) step(p layout, s api.Step) timelineEntry {
	if s.Kind == "model" {
		return t.request(s)
	}
	return t.call(p, s)
}

// request is a step of the model: what it used, and what it said or why nothing came.
func (t timeline) request(s api.Step) timelineEntry {
	parts := []string{"model " + console.OrDash(s.Model)}
	if span := stepDuration(s); span != "" {
		parts = append(parts, span)
	}
	// A request that failed before the model began has used nothing.
	tokens := usageText(s)
	if tokens != "" && s.Usage.Priced {
		parts = append(parts, exactMoney(s.Usage.Cost))
	}
	m := timelineEntry{at: stepStart(s), line: strings.Join(parts, " · ")}
	switch {
	case s.Why != "" && s.State == "done":
		m.below = append(m.below, "repaired: "+s.Why)
	case s.Why != "":
		m.below = append(m.below, "failed: "+s.Why)
	// The process died between the request and its answer.
	case s.State == "unknown":
		m.below = append(m.below, "interrupted: whether it was answered is not known")
	case s.State == "intent":
		m.below = append(m.below, "under way")
	}
	if tokens != "" {
		m.below = append(m.below, tokens)
	}
	for _, it := range t.Items {
		// Calls and results belong to the steps of tools, which have entries of their own.
		if it.Step == s.N && it.Text != "" && (it.Kind == "text" || it.Kind == "reasoning") {
			m.below = append(m.below, map[string]string{"text": "says: ", "reasoning": "thinks: "}[it.Kind]+it.Text)
		}
	}
	return m
}

// usageText is the tokens of a request, "" when it counted none. Input from the cache is cheaper than other input, input
// that goes into the cache may cost more, and reasoning is output that is not shown, so all three are named.
func usageText(s api.Step) string {
	u := s.Usage
	if u.Input+u.Output == 0 {
		return ""
	}
	text := console.Thousands(u.Input) + " tokens in"
	var cache []string
	if u.Cached > 0 {
		cache = append(cache, console.Thousands(u.Cached)+" cached")
	}
	if u.Written > 0 {
		cache = append(cache, console.Thousands(u.Written)+" written to the cache")
	}
	if len(cache) > 0 {
		text += " (" + strings.Join(cache, ", ") + ")"
	}
	text += " · " + console.Thousands(u.Output) + " out"
	if u.Reasoning > 0 {
		text += " (" + console.Thousands(u.Reasoning) + " reasoning)"
	}
	if !u.Priced {
		text += " · price not known"
	}
	return text
}

// stepStart is when a step began; one that reserved nothing has only an end.
func stepStart(s api.Step) time.Time {
	if s.Started.IsZero() {
		return s.Ended
	}
	return s.Started
}

// stepDuration is how long a step took, "" if it has not ended or never started.
func stepDuration(s api.Step) string {
	if s.Started.IsZero() || s.Ended.IsZero() {
		return ""
	}
	return console.Span(s.Ended.Sub(s.Started).Milliseconds())
}

// call is a step of a tool: its arguments, what the permission rules and the owner decided, what it waits for, and its result.
func (t timeline) call(p layout, s api.Step) timelineEntry {
	parts := []string{s.Tool}
	if span := stepDuration(s); span != "" {
		parts = append(parts, span)
	}
	m := timelineEntry{at: stepStart(s)}
	// The result is kept apart, because it comes below the decisions and waits that led to it.
	var result []string
	for _, it := range t.Items {
		switch {
		case it.CallID != s.CallID:
		case it.Kind == "call" && it.Args != "":
			m.below = append(m.below, "with: "+it.Args)
		case it.Kind == "result" && it.IsError:
			result = append(result, "error: "+it.Text)
		case it.Kind == "result":
			result = append(result, "gives: "+it.Text)
		}
	}
	for _, r := range t.Audit {
		// A call may have several audit rows: refused, asked, allowed.
		if r.Call == s.CallID {
			m.below = append(m.below, "decision: "+r.Decision+", "+console.ToYou(r.Reason))
			if r.Outcome != "" {
				parts = append(parts, r.Outcome)
			}
		}
	}
	for _, q := range t.Questions {
		if q.ID == s.Asked && s.Asked != 0 {
			m.below = append(m.below, questionText(q, p))
			if m.at.IsZero() {
				m.at = q.Asked
			}
		}
	}
	for _, w := range t.Waits {
		if w.CallID == s.CallID && w.Kind != "question" { // questions are printed above
			m.below = append(m.below, waitText(w, p))
		}
	}
	// The process died while the tool ran, and nothing can tell whether it took effect.
	if s.State == "unknown" {
		parts = append(parts, "whether it took effect is not known")
	}
	m.line, m.below = strings.Join(parts, " · "), append(m.below, result...)
	return m
}

// questionText is what was asked, and who answered when.
func questionText(q api.Question, p layout) string {
	text := "asked you: " + q.Code + " at " + p.clock(q.Asked)
	switch {
	case q.State == "open":
		return text + " · open until " + p.at(q.Until)
	case q.State == "expired":
		return text + " · nobody answered"
	case q.State == "withdrawn":
		return text + " · withdrawn"
	}
	text += " · " + console.OrDash(q.Answer)
	if q.By != "" {
		text += " from " + q.By + " at " + p.near(q.When, q.Asked)
	}
	return text
}

// waitText is what the call waited for, and what ended the wait.
func waitText(w api.Wait, p layout) string {
	text := strings.TrimSpace("waits for " + w.Kind + " " + w.Subject)
	if !w.Until.IsZero() {
		text += " until " + p.at(w.Until)
	}
	if !w.Met.IsZero() {
		text += " · met at " + p.near(w.Met, w.Until) + " (" + console.OrDash(w.How) + ")"
	}
	return text
}

// sent is a message that went out, and what went wrong on the way. Only attempts with an error are listed: hob
// outbox show has all of them.
func (t timeline) sent(o api.OutboxRow) timelineEntry {
	m := timelineEntry{at: o.Created, line: fmt.Sprintf("answer to %s (outbox %d, %s): %s", o.To, o.ID, o.State, o.Body)}
	for _, d := range o.Deliveries {
		if d.Error != "" {
			m.below = append(m.below, console.Plural(int64(d.Attempts), "attempt")+": "+d.Error)
		}
	}
	return m
}
