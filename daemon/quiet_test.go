package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// In the quiet hours of the config, reports of jobs wait. The owner gets them as one message with /quiet off. Messages to other people
// can be stopped for the duration that the config sets.
func TestQuietHoursOfTheConfig(t *testing.T) {
	t.Parallel() // most of it is waiting
	ntfy, err := channelstest.NewNtfy("")
	if err != nil {
		t.Fatal(err)
	}
	defer ntfy.Close()
	home, now := t.TempDir(), time.Now().UTC()
	write(t, home, fmt.Sprintf(`
[owner]
timezone = "UTC"
addresses = ["alerts:me"]
quiet = "%s-%s"
[channels.alerts]
kind = "ntfy"
server = %q
topics = ["me", "friend"]
receive = false
[outbox]
hold = "1h"
[jobs.tick]
cron = "* * * * * *"
prompt = "say: tick"
deliver = "owner"
[jobs.greet]
cron = "* * * * * *"
prompt = "say: greetings"
deliver = "alerts:friend"
`, now.Add(-2*time.Hour).Format("15:04"), now.Add(2*time.Hour).Format("15:04"), ntfy.URL()))
	r := start(t, home)
	waits := func(state string) (n int) {
		rows, err := client.List(t.Context(), r.client, api.Outbox, event.Filter{State: state, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Waits == "quiet" {
				n++
			}
		}
		return n
	}
	r.until("the waiting of four messages", func() bool { return waits("ready") >= 4 })
	if got := r.say("/quiet"); !strings.HasPrefix(got, "Quiet until ") || !strings.Contains(got, "messages wait") {
		t.Errorf("/quiet says %q", got)
	}
	if got := ntfy.Received(); len(got) != 0 {
		t.Errorf("while it is quiet, %+v arrived", got)
	}
	r.say("/quiet off")
	r.until("the sending of what waited", func() bool { return len(ntfy.Received()) > 0 })
	first := ntfy.Received()[0]
	if first.Topic != "me" || !strings.HasPrefix(first.Message, "While it was quiet:") || strings.Count(first.Message, "tick") < 4 {
		t.Errorf("arrived %+v", first)
	}
	if got := r.say("/quiet"); !strings.HasPrefix(got, "It is not quiet") {
		t.Errorf("/quiet says %q", got)
	}
	for _, m := range ntfy.Received() {
		if m.Topic != "me" {
			t.Errorf("arrived at once at somebody else's: %+v", m)
		}
	}
}
