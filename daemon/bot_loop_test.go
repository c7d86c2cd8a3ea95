package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// Two hobs in one room, whose models always have something to say to each other, stop after five turns each, and an owner is told.
func TestTwoHobsStop(t *testing.T) {
	t.Parallel() // most of it is waiting
	room, err := channelstest.NewIRC(channelstest.IRCOptions{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(room.Close)
	hob := func(nick, other string) *running {
		model := llmtest.NewServer()
		t.Cleanup(model.Close)
		model.Otherwise(func(llmtest.Request) llmtest.Turn {
			return llmtest.Streamed(llmtest.Say(other + ": " + strings.Repeat("what do you say to that? ", 9)))
		})
		home := t.TempDir()
		write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n[channels.irc]\nserver = %q\nplain = true\ntrust_nicks = true\nnick = %q\nchannels = [\"#den\"]\n",
			model.URL, room.Addr(), nick))
		return start(t, home)
	}
	both := []*running{hob("huey", "dewey"), hob("dewey", "huey")}
	both[0].until("both are in the room", func() bool { return room.Calls("JOIN") == 2 })
	room.Person("sam", "")
	room.Say("sam", "#den", "huey: ask the other one what he thinks") // who is not named: two questions are two conversations

	told := func(r *running) (n int) {
		rows, err := client.List(t.Context(), r.client, api.Outbox, event.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if strings.HasPrefix(row.Body, "I say no more to “") && strings.Contains(row.Body, " in #den” on irc:#den for an hour") {
				n++
			}
		}
		return n
	}
	both[0].until("an owner is told", func() bool { return told(both[0])+told(both[1]) > 0 })
	for i, r := range both {
		turns, err := client.List(t.Context(), r.client, api.Turns, event.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(turns) == 0 || len(turns) > 5 {
			t.Errorf("hob %d had %d turns", i+1, len(turns))
		}
	}
	if told(both[0]) > 1 || told(both[1]) > 1 {
		t.Error("an owner was told twice")
	}
}
