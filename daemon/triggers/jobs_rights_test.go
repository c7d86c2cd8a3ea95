package triggers_test

import (
	"slices"
	"testing"

	"hob/tools/automation"
)

func TestRightsOfAJob(t *testing.T) {
	d, s := newJobs(t)
	planned(t, d, s, automation.Draft{Name: "a", Schedule: "every 1h", Prompt: "x", Allow: "exec,net"})
	j, _, err := d.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		about string
		wish  automation.Draft
		want  []string
	}{
		{"another prompt leaves them", automation.Draft{Prompt: "y"}, []string{"exec", "net"}},
		{"a list takes their place", automation.Draft{Allow: "net"}, []string{"net"}},
		{"none takes them away", automation.Draft{Allow: automation.NoRights}, nil},
	} {
		c.wish.ID = j.ID
		planned(t, d, s, c.wish)
		now, err := s.Triggers.Job(t.Context(), j.ID)
		if err != nil || !slices.Equal(now.Allow, c.want) {
			t.Errorf("%s: %v, %v", c.about, now.Allow, err)
		}
	}
}
