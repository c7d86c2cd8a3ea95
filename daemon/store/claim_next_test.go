package store_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/scheduler"
)

// queued is an input that waits.
func queued(seq int64, rank event.Rank, text string) turn.Queued {
	q := turn.Queued{Seq: seq, In: event.In{Kind: event.Message, Rank: rank, Parts: event.Say(text)}}
	if text[0] == '/' {
		q.In.Kind = event.Command
	}
	return q
}

// What the thread takes next, by what waits.
func TestTakenNext(t *testing.T) {
	owner, rest := queued(5, event.RankOwner, "hello"), queued(5, event.RankRest, "news")
	early, late, other := queued(3, event.RankOwner, "/new"), queued(7, event.RankOwner, "/new"), queued(2, event.RankOwner, "/status")
	elsewhere := other
	elsewhere.In.Session = "group"
	visitor, away := queued(8, event.RankRest, "hello"), queued(4, event.RankOwner, "/new")
	visitor.In.Session, away.In.Session = "group", "group"
	for name, c := range map[string]struct {
		waiting                 store.Waiting
		command, input, resumed int64
	}{
		"nothing":                                     {},
		"a message of the owner":                      {waiting: store.Waiting{Input: owner}, input: 5},
		"anything else":                               {waiting: store.Waiting{Input: rest}, input: 5},
		"a turn that goes on":                         {waiting: store.Waiting{Turn: 9}, resumed: 9},
		"the owner before a turn that goes on":        {waiting: store.Waiting{Input: owner, Turn: 9}, input: 5},
		"a turn that goes on before the rest":         {waiting: store.Waiting{Input: rest, Turn: 9}, resumed: 9},
		"a command that came before a message":        {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{early}}, command: 3},
		"a message that came before a command":        {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{late}}, input: 5},
		"a command before what others said":           {waiting: store.Waiting{Input: rest, Commands: []turn.Queued{late}}, command: 7},
		"a command before a turn that goes on":        {waiting: store.Waiting{Commands: []turn.Queued{late}, Turn: 9}, command: 7},
		"a command that the thread does not serve":    {waiting: store.Waiting{Commands: []turn.Queued{other}}},
		"a command after one that it does not serve":  {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{other, early, late}, Turn: 9}, resumed: 9},
		"the same, with an input of another one":      {waiting: store.Waiting{Input: visitor, Commands: []turn.Queued{other, early}}, input: 8},
		"the same, with a command of another one":     {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{other, early, away}}, command: 4},
		"the same, of another conversation":           {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{elsewhere, early, late}}, command: 3},
		"a command of a low rank, and a turn goes on": {waiting: store.Waiting{Commands: []turn.Queued{queued(3, event.RankRest, "/new")}, Turn: 9}, resumed: 9},
	} {
		command, input, resumed := c.waiting.Next([]string{"/new"})
		if command.Seq != c.command || input.Seq != c.input || resumed != c.resumed {
			t.Errorf("%s: %d, %d, %d, want %d, %d, %d", name, command.Seq, input.Seq, resumed, c.command, c.input, c.resumed)
		}
	}
}

// Runs that may do something begin a new conversation.
func TestBeginsAnew(t *testing.T) {
	for name, c := range map[string]struct {
		session   string
		heartbeat bool
		allow     []string
		want      bool
	}{
		"no rights":              {session: "job:1"},
		"rights to read":         {session: "watch:1", allow: []string{"read:/home/x", "READ:/y"}},
		"a right to do":          {session: "job:1", allow: []string{"read:/home/x", "run:git *"}, want: true},
		"one without a scope":    {session: "job:1", allow: []string{"read"}, want: true},
		"in the owner's session": {session: "main", allow: []string{"run:git *"}},
		"the heartbeat":          {session: "heartbeat", heartbeat: true, want: true},
		"the heartbeat in main":  {session: "main", heartbeat: true},
	} {
		if got := store.BeginsAnew(c.session, c.heartbeat, c.allow); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A plain text answers the one question that it can be meant for.
func TestAnsweredAsk(t *testing.T) {
	here, replied, elsewhere := store.OpenAsk{ID: 1, Here: true}, store.OpenAsk{ID: 2, Replied: true, Here: true}, store.OpenAsk{ID: 3}
	commanded := store.OpenAsk{ID: 4, Here: true, Replied: true, Commanded: true}
	permission, chosen := store.OpenAsk{ID: 5, Here: true, Approval: true}, store.OpenAsk{ID: 6, Here: true, Chosen: true}
	for name, c := range map[string]struct {
		open  []store.OpenAsk
		reply bool
		words bool
		want  int64
	}{
		"none is open":                    {},
		"the only one here":               {open: []store.OpenAsk{here, elsewhere}, want: 1},
		"two are here":                    {open: []store.OpenAsk{here, replied}},
		"a reply to one of two":           {open: []store.OpenAsk{here, replied}, reply: true, want: 2},
		"a reply to something else":       {open: []store.OpenAsk{here}, reply: true},
		"one that a command answers":      {open: []store.OpenAsk{commanded}},
		"another beside one that it does": {open: []store.OpenAsk{commanded, here}, want: 1},
		"beside a permission":             {open: []store.OpenAsk{here, permission}},
		"an option beside a permission":   {open: []store.OpenAsk{chosen, permission}, want: 6},
		"a reply beside a permission":     {open: []store.OpenAsk{replied, permission}, reply: true, want: 2},
		"a permission elsewhere":          {open: []store.OpenAsk{here, {ID: 7, Approval: true}}, want: 1},
		"words beside a permission":       {open: []store.OpenAsk{here, permission}, words: true, want: 1},
		"only a permission":               {open: []store.OpenAsk{permission}},
	} {
		if got := store.AnsweredAsk(c.open, c.reply, !c.words); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// It is quiet for as long as the owner has asked for, and in the quiet hours that this ends in.
func TestQuietEnd(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	night := func(now time.Time) time.Time { // from 22 to 7
		switch {
		case now.Before(at(7)):
			return at(7)
		case !now.Before(at(22)):
			return at(31)
		}
		return time.Time{}
	}
	for name, c := range map[string]struct {
		times     store.QuietTimes
		now, want time.Time
	}{
		"never":                              {store.QuietTimes{}, at(3), at(3)},
		"by day":                             {store.QuietTimes{Hours: night}, at(12), at(12)},
		"at night":                           {store.QuietTimes{Hours: night}, at(3), at(7)},
		"asked for":                          {store.QuietTimes{Asked: at(14), Hours: night}, at(12), at(14)},
		"asked for until the night":          {store.QuietTimes{Asked: at(23), Hours: night}, at(12), at(31)},
		"what was asked for is over":         {store.QuietTimes{Asked: at(9)}, at(12), at(12)},
		"awake for the rest of this night":   {store.QuietTimes{Awake: at(7), Hours: night}, at(3), at(3)},
		"quiet again at the end of the wake": {store.QuietTimes{Awake: at(7), Hours: night}, at(23), at(31)},
	} {
		if got := c.times.End(c.now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Each failure in a row holds a trigger back longer, and each fifth asks the owner.
func TestAfterFailure(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var last time.Duration
	for n := 1; n <= 20; n++ {
		hold, ask := store.AfterFailure(n, now)
		if wait := hold.Sub(now); wait < last || wait <= 0 {
			t.Errorf("after %d failures it waits for %v, after one less for %v", n, wait, last)
		} else {
			last = wait
		}
		if ask != (n%5 == 0) {
			t.Errorf("after %d failures the owner is asked: %v", n, ask)
		}
	}
}

// Quiet hours hold back messages to the owner, a delay those to others; neither the local chat nor anything urgent waits.
func TestHoldRule(t *testing.T) {
	for name, c := range map[string]struct {
		out   event.Out
		to    event.Address
		owner bool
		want  string
	}{
		"to the local chat":                {out: event.Out{Cause: event.Cause{Kind: event.ByTurn}}, to: event.CLI},
		"to the owner":                     {out: event.Out{Cause: event.Cause{Kind: event.ByTurn}}, to: "telegram:1", owner: true, want: "quiet"},
		"to the owner, and urgent":         {out: event.Out{Cause: event.Cause{Kind: event.ByTurn}, Urgency: event.Urgent}, to: "telegram:1", owner: true},
		"a notice to the owner":            {out: event.Out{Cause: event.Cause{Kind: event.ByNotice}}, to: "telegram:1", owner: true, want: "quiet"},
		"to somebody else":                 {out: event.Out{Cause: event.Cause{Kind: event.ByTurn}}, to: "telegram:2", want: "hold"},
		"to somebody else, and urgent":     {out: event.Out{Cause: event.Cause{Kind: event.ByTurn}, Urgency: event.Urgent}, to: "telegram:2", want: "hold"},
		"what the owner sends to somebody": {out: event.Out{Cause: event.Cause{Kind: event.ByCommand}}, to: "telegram:2"},
		"what hob itself says to somebody": {out: event.Out{Cause: event.Cause{Kind: event.ByNotice}}, to: "telegram:2"},
		"a job's message to somebody else": {out: event.Out{Cause: event.Cause{Kind: event.ByFire}}, to: "telegram:2", want: "hold"},
		"a question to somebody else":      {out: event.Out{Cause: event.Cause{Kind: event.ByQuestion}}, to: "telegram:2", want: "hold"},
	} {
		if got := store.DelayRule(c.out, c.to, c.owner); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A message waits until the quiet ends; one with a time of its own does not go earlier when the quiet is cut short.
func TestQuietUntil(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	quiet := store.QuietTimes{Asked: at(7)}
	for name, c := range map[string]struct {
		times          store.QuietTimes
		now, notBefore time.Time
		until          time.Time
		waits          string
	}{
		"no quiet":                              {now: at(3)},
		"no quiet, and a time of its own":       {now: at(3), notBefore: at(5), until: at(5)},
		"quiet":                                 {times: quiet, now: at(3), until: at(7), waits: "quiet"},
		"quiet, and a time that is over":        {times: quiet, now: at(3), notBefore: at(2), until: at(7), waits: "quiet"},
		"quiet until after a time of its own":   {times: quiet, now: at(3), notBefore: at(5), until: at(7)},
		"a time of its own after the quiet":     {times: quiet, now: at(3), notBefore: at(8), until: at(8)},
		"the quiet is over":                     {times: quiet, now: at(9)},
		"the quiet ends at a time of its own":   {times: quiet, now: at(3), notBefore: at(7), until: at(7)},
		"the quiet ends now, and nothing waits": {times: quiet, now: at(7)},
	} {
		until, waits := store.QuietUntil(c.times, c.now, c.notBefore)
		if !until.Equal(c.until) || waits != c.waits {
			t.Errorf("%s: %v %q, want %v %q", name, until, waits, c.until, c.waits)
		}
	}
}

// A message to somebody else waits for the delay, and never less than one before it.
func TestHoldUntil(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		delay                time.Duration
		last, now, notBefore time.Time
		until                time.Time
		waits                string
	}{
		"no delay":                              {now: at(0)},
		"no delay, and a time of its own":       {now: at(0), notBefore: at(9), until: at(9)},
		"a delay":                               {delay: time.Minute, now: at(0), until: at(1), waits: "hold"},
		"a delay after a time of its own":       {delay: time.Minute, now: at(0), notBefore: at(9), until: at(10), waits: "hold"},
		"an earlier message waits longer":       {delay: time.Minute, last: at(5), now: at(0), until: at(5), waits: "hold"},
		"an earlier message waits less":         {delay: time.Minute, last: at(0), now: at(0), until: at(1), waits: "hold"},
		"the delay was turned off, one waits":   {last: at(5), now: at(0), until: at(5), waits: "hold"},
		"the delay was turned off, none waits":  {last: at(0), now: at(0)},
		"an earlier message and a time, no gap": {last: at(5), now: at(0), notBefore: at(5), until: at(5)},
	} {
		until, waits := store.CancelDelayUntil(c.delay, c.last, c.now, c.notBefore)
		if !until.Equal(c.until) || waits != c.waits {
			t.Errorf("%s: %v %q, want %v %q", name, until, waits, c.until, c.waits)
		}
	}
}

// The final text of a turn goes into its draft, unless the answer goes to another chat by now.
func TestDraftSteps(t *testing.T) {
	for name, c := range map[string]struct {
		facts store.DraftFacts
		want  store.DraftSteps
	}{
		"no draft":                            {facts: store.DraftFacts{To: "telegram:1"}},
		"no draft, and the channel edits":     {facts: store.DraftFacts{To: "telegram:1", Edits: true}, want: store.DraftSteps{TakeOver: true}},
		"the row is no draft":                 {facts: store.DraftFacts{Found: true, At: "telegram:1", To: "telegram:1", Edits: true}},
		"a draft in this chat":                {facts: store.DraftFacts{Found: true, Shown: true, At: "telegram:1", To: "telegram:1", Edits: true}, want: store.DraftSteps{Fill: true}},
		"a draft in this chat, edits now off": {facts: store.DraftFacts{Found: true, Shown: true, At: "telegram:1", To: "telegram:1"}, want: store.DraftSteps{Fill: true}},
		"a draft in another chat":             {facts: store.DraftFacts{Found: true, Shown: true, At: "telegram:1", To: "irc:1"}, want: store.DraftSteps{Close: true}},
		"a draft in another chat that edits":  {facts: store.DraftFacts{Found: true, Shown: true, At: "irc:1", To: "telegram:1", Edits: true}, want: store.DraftSteps{Close: true, TakeOver: true}},
		"a row elsewhere that is not a draft": {facts: store.DraftFacts{Found: true, At: "irc:1", To: "telegram:1", Edits: true}},
		"another thread of the chat":          {facts: store.DraftFacts{Found: true, Shown: true, At: "telegram:1", To: "telegram:1/7"}, want: store.DraftSteps{Close: true}},
	} {
		if got := c.facts.Decide(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A fire ran only if its turn is done without a fault; what the owner has stopped does not delay the next run.
func TestFireOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		finish  turn.Finish
		outcome scheduler.Outcome
		why     string
		delays  bool
	}{
		"done":                    {turn.Finish{State: turn.Done}, scheduler.OutcomeRan, "", false},
		"done, with a remark":     {turn.Finish{State: turn.Done, Why: "cut"}, scheduler.OutcomeRan, "cut", false},
		"done, but with a fault":  {turn.Finish{State: turn.Done, Fault: "exit 1"}, scheduler.OutcomeFailed, "exit 1", true},
		"failed":                  {turn.Finish{State: turn.Failed, Why: "no model"}, scheduler.OutcomeFailed, "no model", true},
		"a fault before a reason": {turn.Finish{State: turn.Failed, Why: "no model", Fault: "exit 1"}, scheduler.OutcomeFailed, "exit 1", true},
		"dead":                    {turn.Finish{State: turn.Dead, Why: "3 attempts"}, scheduler.OutcomeFailed, "3 attempts", true},
		"stopped by the owner":    {turn.Finish{State: turn.Stopped, Why: "stopped"}, scheduler.OutcomeFailed, "stopped", false},
	} {
		outcome, why, delays := store.FireOutcome(c.finish)
		if outcome != c.outcome || why != c.why || delays != c.delays {
			t.Errorf("%s: %s %q %v, want %s %q %v", name, outcome, why, delays, c.outcome, c.why, c.delays)
		}
	}
}

// F7: a job without a chosen session leaves main while main holds foreign text, and its record says why. Reminders and jobs with the session
// main stay. If its own conversation holds foreign text as well, it begins a new one.
func TestAJobLeavesATaintedMain(t *testing.T) {
	s := fresh(t)
	run := func(j scheduler.Job) (key string, foreign bool, reason string) {
		t.Helper()
		s.comes(j)
		id := s.take()
		key = one[string](s, "SELECT s.key FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id)
		foreign = one[bool](s, "SELECT s.watermark <> 'owner' FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id)
		reason = one[string](s, "SELECT reason FROM fires WHERE turn = ?", id)
		s.done(id)
		return key, foreign, reason
	}
	auto := s.job("auto")
	chosen := s.job("chosen", func(j *scheduler.Job) { j.Session = "main" })
	says := s.job("says", func(j *scheduler.Job) { j.Prompt = "say: tea" })
	if key, foreign, reason := run(auto); key != "main" || foreign || strings.Contains(reason, "conversation") {
		t.Errorf("clean: %s, %v, %q", key, foreign, reason)
	}
	s.sql("UPDATE sessions SET watermark = 'public', foreign_from = 'a file in a message' WHERE key = 'main'")
	for range 2 {
		auto, _ = s.Jobs.Job(t.Context(), auto.ID)
		key, foreign, reason := run(auto)
		if want := "in a conversation of its own, because main holds foreign text (a file in a message)"; key != "job:auto" || foreign || !strings.HasSuffix(reason, want) {
			t.Errorf("foreign text: %s, %v, %q", key, foreign, reason)
		}
		s.sql("UPDATE sessions SET watermark = 'public' WHERE key = 'job:auto'")
	}
	for _, j := range []scheduler.Job{chosen, says} {
		if key, _, _ := run(j); key != "main" {
			t.Errorf("%s runs in %s", j.Name, key)
		}
	}
}
