package store_test

import (
	"errors"
	"strings"
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// drafting is a store with a turn whose draft is being sent for the first time.
type drafting struct {
	*testStore
	key   string
	first channels.Delivery
	turn  int64
}

func newDrafting(t *testing.T) *drafting {
	t.Helper()
	d := &drafting{testStore: fresh(t, func(s *testStore) { s.policy.Edits = func(event.Address) bool { return true } })}
	d.turn = d.asked(message("think"))
	if err := d.Outbox.Draft(t.Context(), channels.NewDraft{Turn: d.turn, To: chat, Text: "*Working…*", Nonce: "n0", NewMessage: true}); err != nil {
		t.Fatal(err)
	}
	row := d.head()
	d.key, d.first = one[string](d.testStore, "SELECT key FROM outbox WHERE id = ?", row.ID), row.Todo[0]
	d.first.To, d.first.Parts, d.first.Attempts = chat, 1, 1
	if err := d.Outbox.Sending(t.Context(), d.first); err != nil {
		t.Fatal(err)
	}
	return d
}

// head is the only head of line.
func (d *drafting) head() channels.Row {
	d.t.Helper()
	rows, err := d.Outbox.Ready(d.t.Context(), d.now(), 10)
	if err != nil || len(rows) != 1 {
		d.t.Fatalf("%+v, %v", rows, err)
	}
	return rows[0]
}

// ends ends the turn's answer with a text.
func (d *drafting) ends(text string) {
	d.t.Helper()
	out := event.Out{Key: d.key, Cause: event.Cause{Kind: event.ByTurn, ID: d.turn}, To: chat, Body: text, Urgency: event.Urgent}
	if err := d.Calls.Record(d.t.Context(), out); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drafting) settle(part channels.Delivery, v channels.Verdict) {
	d.t.Helper()
	if err := d.Outbox.Settle(d.t.Context(), part, v); err != nil {
		d.t.Fatal(err)
	}
}

// A draft that is refused, or fails, when its turn has a text already is nobody's loss: the text goes out as a message of its own, and only when
// that is refused too is it dead.
func TestADraftIsRefusedAtTheEndOfItsTurn(t *testing.T) {
	refused := channels.Verdict{State: channels.Dead, Reason: "refused", Tell: &channels.Notice{Key: "told", To: event.CLI, Text: "it is dead"}}
	for name, c := range map[string]struct {
		v    channels.Verdict
		anew bool
	}{
		"refused for good":              {refused, true},
		"failed":                        {channels.Verdict{State: channels.Retry, Reason: "cut off"}, true},
		"failed, and may have arrived":  {channels.Verdict{State: channels.Retry, Unsure: 1, Reason: "lost"}, false},
		"it has arrived":                {channels.Verdict{State: channels.Sent, RemoteID: "r"}, false},
		"the owner is asked about that": {channels.Verdict{State: channels.Unknown, Unsure: 1, Reason: "lost"}, false},
	} {
		d := newDrafting(t)
		d.ends("It is done.")
		d.settle(d.first, c.v)
		if parts := one[int](d.testStore, "SELECT count(*) FROM deliveries"); (parts == 0) != c.anew {
			t.Errorf("%s: %d parts", name, parts)
		}
		if told := one[int](d.testStore, "SELECT count(*) FROM outbox WHERE key = 'told'"); told != 0 {
			t.Errorf("%s: the owner was told", name)
		}
		if !c.anew {
			continue
		}
		row := d.head()
		if row.Body != "It is done." || row.Parts != 0 || row.Drafted || row.Interrupted {
			t.Errorf("%s: %+v", name, row)
		}
		own := channels.Delivery{Outbox: row.ID, Parts: 1, Body: row.Body, Nonce: "n1", Attempts: 1, To: chat}
		if err := d.Outbox.Split(t.Context(), row.ID, []channels.Delivery{own}, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.Outbox.Sending(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		d.settle(own, refused)
		if state, told := one[string](d.testStore, "SELECT state FROM outbox WHERE id = ?", row.ID), one[int](d.testStore, "SELECT count(*) FROM outbox WHERE key = 'told'"); state != "dead" || told != 1 {
			t.Errorf("%s: in the end it is %s, told %d", name, state, told)
		}
	}
}

// The text that takes a draft's place is cut once: what is committed first stays, also when it is cut otherwise later.
func TestADraftIsCutOnce(t *testing.T) {
	d := newDrafting(t)
	d.settle(d.first, channels.Verdict{State: channels.Sent, RemoteID: "r"})
	d.ends("one two")
	row := d.head()
	if !row.Drafted || row.Split || row.Shown != "r" {
		t.Fatalf("%+v", row)
	}
	for _, text := range []string{"one|two", "one two", "o|n|e two"} {
		var parts []channels.Delivery
		for i, piece := range strings.Split(text, "|") {
			parts = append(parts, channels.Delivery{Outbox: row.ID, Part: i, Body: piece, Nonce: text + piece})
		}
		err := d.Outbox.Split(t.Context(), row.ID, parts, nil)
		now := d.head()
		if errors.Is(err, channels.ErrNotReady) != (text != "one|two") || !now.Drafted || !now.Split || now.Parts != 2 || now.Todo[0].Body != "one" || now.Todo[1].Body != "two" || now.Todo[0].Nonce != "n0" || now.Todo[1].Nonce != "one|twotwo" {
			t.Errorf("cut as %s: %+v, %v", text, now, err)
		}
	}
}
