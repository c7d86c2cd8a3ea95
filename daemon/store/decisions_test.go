package store_test

import (
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
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
		"the first one that the thread serves":        {waiting: store.Waiting{Input: owner, Commands: []turn.Queued{other, early, late}}, command: 3},
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
	for name, c := range map[string]struct {
		open  []store.OpenAsk
		reply bool
		want  int64
	}{
		"none is open":                    {},
		"the only one here":               {open: []store.OpenAsk{here, elsewhere}, want: 1},
		"two are here":                    {open: []store.OpenAsk{here, replied}},
		"a reply to one of two":           {open: []store.OpenAsk{here, replied}, reply: true, want: 2},
		"a reply to something else":       {open: []store.OpenAsk{here}, reply: true},
		"one that a command answers":      {open: []store.OpenAsk{commanded}},
		"another beside one that it does": {open: []store.OpenAsk{commanded, here}, want: 1},
	} {
		if got := store.AnsweredAsk(c.open, c.reply); got != c.want {
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
