package store_test

import (
	"slices"
	"strings"
	"testing"

	"hob/scheduler/filewatch"
)

// Watches and webhooks whose rows cannot be read are switched off, told of once, and hold up nothing else.
func TestSetAside(t *testing.T) {
	s := fresh(t)
	s.watch("papers")
	s.webhook("door")
	bad, worse := s.watch("bad"), s.webhook("worse")
	s.sql(`UPDATE triggers SET body = '{"paths": 7}' WHERE id = ?`, bad.ID)
	s.sql(`UPDATE triggers SET body = '[]' WHERE id = ?`, worse.ID)
	for range 2 {
		if err := s.Jobs.DisableUnreadable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	for _, o := range s.outs() {
		text, _, _ := strings.Cut(o.Body, ":")
		_, hint, _ := strings.Cut(o.Body, ". ")
		told = append(told, text+": "+hint)
	}
	slices.Sort(told)
	want := []string{
		"Watch bad cannot be used and is switched off: hob watch rm bad takes it away; then make it anew.",
		"Webhook worse cannot be used and is switched off: hob hook rm worse takes it away; then make it anew.",
	}
	if !slices.Equal(told, want) {
		t.Errorf("the owner was told %q, want %q", told, want)
	}
	if live, err := s.watches().Watches(t.Context()); err != nil || len(live) != 1 || live[0].Name != "papers" {
		t.Errorf("%+v %v", live, err)
	}
	hooks, err := s.Webhooks.All(t.Context())
	if err != nil || len(hooks) != 2 || hooks[0].Broken != "" || hooks[1].Broken == "" {
		t.Errorf("%+v %v", hooks, err)
	}
	if err := s.Calls.Record(t.Context(), filewatch.Drop{ID: bad.ID}); err != nil {
		t.Errorf("a spoilt watch cannot be taken away: %v", err)
	}
}
