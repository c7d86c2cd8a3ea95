package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/console"
)

// turnStory is a turn with everything that belongs to it.
type turnStory struct {
	turnRow
	Asker     string          `json:"asker"`
	Attempts  int64           `json:"attempts"`
	Ended     time.Time       `json:"ended"`
	Cost      *int64          `json:"cost_micros"` // nil: the price is not known
	Items     []storyItem     `json:"items"`
	Steps     []storyStep     `json:"steps"`
	Waits     []storyWait     `json:"waits"`
	Questions []storyQuestion `json:"questions"`
	Inbox     []storyInput    `json:"inbox"`
	Outbox    []storySent     `json:"outbox"`
	Audit     []auditRow      `json:"audit"`
}

type storyInput struct {
	Seq      int64     `json:"seq"`
	Source   string    `json:"source"`
	Sender   string    `json:"sender"`
	Kind     string    `json:"kind"`
	Received time.Time `json:"received"`
	Text     string    `json:"text"`
}

type storySent struct {
	ID         int64     `json:"id"`
	To         string    `json:"to"`
	Body       string    `json:"body"`
	State      string    `json:"state"`
	Created    time.Time `json:"created"`
	Deliveries []struct {
		Attempts int    `json:"attempts"`
		Error    string `json:"error"`
	} `json:"deliveries"`
}

type storyItem struct {
	Step    int    `json:"step"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	CallID  string `json:"call_id"`
	Args    string `json:"args"`
	IsError bool   `json:"is_error"`
}

type storyStep struct {
	N       int       `json:"n"`
	Kind    string    `json:"kind"`
	State   string    `json:"state"`
	CallID  string    `json:"call_id"`
	Tool    string    `json:"tool"`
	Asked   int64     `json:"question"`
	Model   string    `json:"model"`
	Why     string    `json:"why"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Usage   struct {
		Input     int64 `json:"input"`
		Cached    int64 `json:"cached"`
		Output    int64 `json:"output"`
		Reasoning int64 `json:"reasoning"`
		Cost      int64 `json:"cost_micros"`
		Priced    bool  `json:"priced"`
	} `json:"usage"`
}

type storyWait struct {
	CallID  string    `json:"call_id"`
	Kind    string    `json:"kind"`
	Until   time.Time `json:"until"`
	Subject string    `json:"subject"`
	Met     time.Time `json:"met"`
	How     string    `json:"how"`
}

type storyQuestion struct {
	ID     int64     `json:"id"`
	Code   string    `json:"code"`
	Asked  time.Time `json:"asked"`
	Until  time.Time `json:"until"`
	State  string    `json:"state"`
	Answer string    `json:"answer"`
	By     string    `json:"answered_by"`
	When   time.Time `json:"answered"`
}

// moment is one entry of the timeline: its line, and what belongs to it below.
type moment struct {
	at    time.Time
	line  string
	below []string
}

// page is the timeline: a head, what happened when, and how it ended.
func (t turnStory) page(p sheet) string {
	var b strings.Builder
	fmt.Fprintln(&b, p.line(fmt.Sprintf("turn %d · %s · session %s · asked by %s", t.ID, t.State, t.Session, t.Asker)))
	fmt.Fprintln(&b, p.line("begun "+p.at(t.Started)+t.span(p)))
	fmt.Fprintln(&b)
	day := t.Started.In(p.zone).Format(time.DateOnly)
	for _, m := range t.moments(p) {
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

func (t turnStory) span(p sheet) string {
	if t.Ended.IsZero() {
		return " · not ended yet"
	}
	return " · ended " + p.at(t.Ended)
}

// end says how it ended and what it cost in all.
func (t turnStory) end() string {
	requests, calls := int64(0), int64(0)
	for _, s := range t.Steps {
		if s.Kind == "model" {
			requests++
		} else {
			calls++
		}
	}
	parts := []string{t.State}
	switch {
	case t.State == "waiting" && t.Why != "":
		parts[0] = console.ToYou(t.Why)
	case t.Why != "":
		parts[0] += ": " + console.ToYou(t.Why)
	}
	parts = append(parts, "ran "+console.Span(t.Running), console.Plural(requests, "model request"), console.Plural(calls, "call"))
	if t.Attempts > 1 {
		parts = append(parts, console.Plural(t.Attempts, "attempt"))
	}
	if t.Tokens > 0 {
		parts = append(parts, console.Thousands(t.Tokens)+" tokens")
	}
	cost := "unknown"
	if t.Cost != nil {
		cost = exactMoney(*t.Cost)
	}
	return strings.Join(append(parts, "cost "+cost), " · ")
}

// exactMoney shows also what is far below a cent.
func exactMoney(micros int64) string {
	if micros%10_000 == 0 {
		return console.Money(micros)
	}
	return fmt.Sprintf("%.4f", float64(micros)/1e6)
}

// moments are all entries in the order of time; steps that have no time of their own stay behind the step before.
func (t turnStory) moments(p sheet) []moment {
	var list []moment
	for _, in := range t.Inbox {
		who := in.Source
		if in.Sender != "" {
			who += ", " + in.Sender
		}
		list = append(list, moment{at: in.Received, line: fmt.Sprintf("%s from %s (inbox %d): %s", in.Kind, who, in.Seq, in.Text)})
	}
	last := t.Started
	for _, s := range t.Steps {
		m := t.step(p, s)
		if m.at.IsZero() || m.at.Before(last) {
			m.at = last
		}
		last = m.at
		list = append(list, m)
	}
	for _, o := range t.Outbox {
		list = append(list, t.sent(o))
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	return list
}

func (t turnStory) step(p sheet, s storyStep) moment {
	if s.Kind == "model" {
		return t.request(s)
	}
	return t.call(p, s)
}

// request is a step of the model: what it used, and what it said or why nothing came.
func (t turnStory) request(s storyStep) moment {
	parts := []string{"model " + console.OrDash(s.Model)}
	if took := s.took(); took != "" {
		parts = append(parts, took)
	}
	used := s.used()
	if used != "" && s.Usage.Priced {
		parts = append(parts, exactMoney(s.Usage.Cost))
	}
	m := moment{at: s.began(), line: strings.Join(parts, " · ")}
	switch {
	case s.Why != "":
		m.below = append(m.below, "failed: "+s.Why)
	case s.State == "unknown":
		m.below = append(m.below, "interrupted: whether it was answered is not known")
	case s.State == "intent":
		m.below = append(m.below, "under way")
	}
	if used != "" {
		m.below = append(m.below, used)
	}
	for _, it := range t.Items {
		if it.Step == s.N && it.Text != "" && (it.Kind == "text" || it.Kind == "reasoning") {
			m.below = append(m.below, map[string]string{"text": "says: ", "reasoning": "thinks: "}[it.Kind]+it.Text)
		}
	}
	return m
}

// used is the tokens of a request, "" when it counted none.
func (s storyStep) used() string {
	u := s.Usage
	if u.Input+u.Output == 0 {
		return ""
	}
	text := console.Thousands(u.Input) + " tokens in"
	if u.Cached > 0 {
		text += " (" + console.Thousands(u.Cached) + " cached)"
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

// began is when a step began; one that reserved nothing has only an end.
func (s storyStep) began() time.Time {
	if s.Started.IsZero() {
		return s.Ended
	}
	return s.Started
}

func (s storyStep) took() string {
	if s.Started.IsZero() || s.Ended.IsZero() {
		return ""
	}
	return console.Span(s.Ended.Sub(s.Started).Milliseconds())
}

// call is a step of a tool: its arguments, what the gate and the owner said, what it waits for, and its result.
func (t turnStory) call(p sheet, s storyStep) moment {
	parts := []string{s.Tool}
	if took := s.took(); took != "" {
		parts = append(parts, took)
	}
	m := moment{at: s.began()}
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
		if r.Call == s.CallID {
			m.below = append(m.below, "gate: "+r.Decision+", "+console.ToYou(r.Reason))
			if r.Outcome != "" {
				parts = append(parts, r.Outcome)
			}
		}
	}
	for _, q := range t.Questions {
		if q.ID == s.Asked && s.Asked != 0 {
			m.below = append(m.below, q.text(p))
			if m.at.IsZero() {
				m.at = q.Asked
			}
		}
	}
	for _, w := range t.Waits {
		if w.CallID == s.CallID && w.Kind != "question" { // that has been said
			m.below = append(m.below, w.text(p))
		}
	}
	if s.State == "unknown" {
		parts = append(parts, "whether it took effect is not known")
	}
	m.line, m.below = strings.Join(parts, " · "), append(m.below, result...)
	return m
}

// text is what was asked, and who answered when.
func (q storyQuestion) text(p sheet) string {
	text := "asked you: " + q.Code + " at " + p.clock(q.Asked)
	switch {
	case q.State == "open":
		return text + " · open until " + p.at(q.Until)
	case q.State == "expired":
		return text + " · nobody answered"
	}
	text += " · " + console.OrDash(q.Answer)
	if q.By != "" {
		text += " from " + q.By + " at " + p.near(q.When, q.Asked)
	}
	return text
}

func (w storyWait) text(p sheet) string {
	text := strings.TrimSpace("waits for " + w.Kind + " " + w.Subject)
	if !w.Until.IsZero() {
		text += " until " + p.at(w.Until)
	}
	if !w.Met.IsZero() {
		text += " · met at " + p.near(w.Met, w.Until) + " (" + console.OrDash(w.How) + ")"
	}
	return text
}

// sent is a message that went out, and what went wrong on the way.
func (t turnStory) sent(o storySent) moment {
	m := moment{at: o.Created, line: fmt.Sprintf("answer to %s (outbox %d, %s): %s", o.To, o.ID, o.State, o.Body)}
	for _, d := range o.Deliveries {
		if d.Error != "" {
			m.below = append(m.below, console.Plural(int64(d.Attempts), "attempt")+": "+d.Error)
		}
	}
	return m
}
