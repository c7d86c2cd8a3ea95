package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// N26: an answer to a message that waited says which message it answers if something else was said in its chat meanwhile. An answer that follows
// its message directly does not, whatever was said in other chats.
func TestAnAnswerThatWasOvertakenNamesItsMessage(t *testing.T) {
	hold := func(_ context.Context, q llm.Request) (llm.Answer, error) {
		if strings.Contains(event.TextOf(q.Messages[len(q.Messages)-1].Parts), "hold") {
			<-time.After(time.Minute)
		}
		return llmtest.Say("yes"), nil
	}
	other := func(to event.Address, text string) event.In {
		in := stranger(text)
		in.ReplyTo, in.Session = to, string(to)+"/"+text
		return in
	}
	for name, c := range map[string]struct {
		first, second event.In
		also          []event.In // behind the second
		want          string
	}{
		"in one chat": {ownerSays("hold"), ownerSays("and `the`\nsecond"), nil, "“`and 'the' second`”"},
		"a file": {ownerSays("hold"), func() event.In {
			in := ownerSays("")
			in.Parts = []event.Part{{Kind: "file", Name: "a.pdf"}}
			return in
		}(), nil, "“a file”"},
		"in different chats":            {other("chat:9", "hold"), ownerSays("the second"), nil, ""},
		"somebody else wrote meanwhile": {other("chat:9", "hold"), other("chat:8", "the second"), []event.In{other("chat:8", "third")}, "“the second”"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, hold, func(r *harness) {
				r.post(c.first)
				r.settle()
				for _, in := range append([]event.In{c.second}, c.also...) {
					<-time.After(time.Second)
					r.post(in)
				}
				<-time.After(time.Minute)
				r.settle()
				overtaken := map[int64]string{}
				for len(overtaken) < 2+len(c.also) {
					heads, err := r.store.Outbox.Ready(context.Background(), r.clock.Wall(), 10)
					if err != nil || len(heads) == 0 {
						t.Fatalf("%v, heads %+v", err, heads)
					}
					for _, h := range heads {
						overtaken[h.ID] = h.Overtaken
						r.sql("UPDATE outbox SET state = 'done' WHERE id = ?", h.ID)
					}
				}
				if overtaken[1] != "" || overtaken[2] != c.want {
					t.Errorf("%v, want %q for the second", overtaken, c.want)
				}
			})
		})
	}
}
