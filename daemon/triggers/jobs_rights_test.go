package triggers_test

import (
	"slices"
	"testing"

	"hob/scheduler"
)

func TestRightsOfAJob(t *testing.T) {
	d, s := newJobs(t)
	planned(t, d, s, scheduler.Draft{Name: "a", When: "every 1h", Prompt: "x", Allow: "exec,net"})
	j, _, err := d.Find(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		about string
		wish  scheduler.Draft
		want  []string
	}{
		{"another prompt leaves them", scheduler.Draft{Prompt: "y"}, []string{"exec", "net"}},
		{"a list takes their place", scheduler.Draft{Allow: "net"}, []string{"net"}},
		{"none takes them away", scheduler.Draft{Allow: scheduler.NoRights}, nil},
	} {
		c.wish.ID = j.ID
		planned(t, d, s, c.wish)
		now, err := s.Jobs.Job(t.Context(), j.ID)
		if err != nil || !slices.Equal(now.Allow, c.want) {
			t.Errorf("%s: %v, %v", c.about, now.Allow, err)
		}
	}
}
