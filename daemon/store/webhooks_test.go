package store_test

import (
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/scheduler/webhook"
)

// webhook makes a webhook of a name.
func (s *testStore) webhook(name string) webhook.Hook {
	s.t.Helper()
	h, err := webhook.New(webhook.Draft{Name: name, Prompt: "Look."}, s.now())
	if err != nil {
		s.t.Fatal(err)
	}
	if h.ID, err = s.Webhooks.Put(s.t.Context(), h, "whsec_first\nwhsec_second"); err != nil {
		s.t.Fatal(err)
	}
	return h
}

// posted is what a webhook was sent.
func (s *testStore) posted(h webhook.Hook, id string) event.In {
	s.t.Helper()
	in, err := h.Input(webhook.Request{Body: []byte("{}"), At: s.now()}, id)
	if err != nil {
		s.t.Fatal(err)
	}
	return in
}

// TestReceive: a delivery is a fire and an input, both or neither, once per id, also across a crash and a new webhook of the same name.
func TestReceive(t *testing.T) {
	s := fresh(t)
	h := s.webhook("ci")
	first, err := s.Webhooks.Receive(t.Context(), h, s.posted(h, "m1"), "")
	if err != nil || !first.New || first.Inbox == 0 || first.Event == 0 {
		t.Fatalf("%+v %v", first, err)
	}
	again := first
	again.New = false
	s = s.crash()
	if got, err := s.Webhooks.Receive(t.Context(), h, s.posted(h, "m1"), ""); err != nil || got != again {
		t.Errorf("the same again: %+v %v, want %+v", got, err, again)
	}
	if n := one[int](s, "SELECT count(*) FROM inbox i JOIN fires f ON f.id = i.fire WHERE i.source = 'hook:ci' AND i.ext_id = f.key AND f.trigger = ? AND f.state = 'queued'", h.ID); n != 1 {
		t.Errorf("%d inputs with their fire", n)
	}
	if err := s.Webhooks.Remove(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	next := s.webhook("ci")
	if got, err := s.Webhooks.Receive(t.Context(), next, s.posted(next, "m1"), ""); err != nil || got != again {
		t.Errorf("the same to a new webhook of that name: %+v %v", got, err)
	}
	if n := one[int](s, "SELECT count(*) FROM fires"); n != 1 {
		t.Errorf("%d fires", n)
	}
	for what, gone := range map[string]webhook.Hook{"removed": h, "paused": next} {
		if what == "paused" {
			if err := s.Webhooks.Pause(t.Context(), next.ID, true); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Webhooks.Receive(t.Context(), gone, s.posted(gone, what), "")
		if f, ok := event.AsFault(err); !ok || f.Kind != event.Missing {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := one[int](s, "SELECT count(*) FROM inbox"); n != 1 {
		t.Errorf("%d inputs", n)
	}
}

// TestHookRests: after failures its inputs wait, and none is lost.
func TestHookRests(t *testing.T) {
	s := fresh(t)
	h := s.webhook("ci")
	s.sql("UPDATE triggers SET hold = ?", sqlite.Micros(s.now().Add(time.Hour))) // after it was read, as by a run that fails meanwhile
	if _, err := s.Webhooks.Receive(t.Context(), h, s.posted(h, "m1"), ""); err != nil {
		t.Fatal(err)
	}
	if got := one[string](s, "SELECT reason FROM fires"); got != "held for 1h0m0s" {
		t.Errorf("its reason is %q", got)
	}
	if c, ok, err := s.Turns.Take(t.Context(), nil, nil); err != nil || ok {
		t.Errorf("taken before its time: %+v %v", c, err)
	}
	s.later(time.Hour + time.Second)
	if c, ok, err := s.Turns.Take(t.Context(), nil, nil); err != nil || !ok || c.Turn == 0 {
		t.Errorf("not taken after its time: %+v %v", c, err)
	}
}

func TestHookRows(t *testing.T) {
	s := fresh(t)
	h := s.webhook("ci")
	s.job("ci") // jobs and webhooks do not share names
	got, secret, err := s.Webhooks.Named(t.Context(), "ci")
	if err != nil || got.ID != h.ID || got.Prompt != "Look." || got.MaxBody != webhook.DefaultBody || secret != "whsec_first\nwhsec_second" {
		t.Errorf("%+v %q %v", got, secret, err)
	}
	if _, err := s.Webhooks.Put(t.Context(), webhook.Hook{Trigger: h.Trigger}, "other"); err != nil {
		t.Errorf("replaced: %v", err)
	}
	h.ID = 0
	if _, err := s.Webhooks.Put(t.Context(), h, "other"); err == nil {
		t.Error("two webhooks of one name")
	}
	s.sql("UPDATE triggers SET body = '[]' WHERE kind = 'hook'")
	all, err := s.Webhooks.All(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "ci" || all[0].Broken == "" {
		t.Errorf("a spoilt row: %+v %v", all, err)
	}
}
