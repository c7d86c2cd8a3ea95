package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// fallbackCase is a fault of the first of two models: how often it is asked before the second one, and how long it then cools down.
type fallbackCase struct {
	name  string
	turn  llmtest.Turn
	dial  func(context.Context, *llmtest.Pipe) (net.Conn, error)
	asks  int           // requests to the first
	takes time.Duration // until the second has answered
	rests time.Duration // 0: the next message goes to the first again
	fault llm.Fault     // which the owner is told of
}

// two are the owner's model and another one behind it, each at a server of its own.
func two(t *testing.T) []*host {
	t.Helper()
	return []*host{newHost(t, llm.Config{Provider: "compatible", Model: "large"}, false), newHost(t, llm.Config{Provider: "openrouter", Model: "spare"}, false)}
}

func TestFaultsWithAnotherModelBehind(t *testing.T) {
	so := llmtest.Say("so far so good")
	for _, c := range []fallbackCase{
		// What is wrong with one request says nothing about the next.
		{name: "400", turn: refuses(400, "bad field"), asks: 1, fault: llm.BadRequest},
		{name: "413", turn: refuses(413, "too large"), asks: 1, fault: llm.TooLarge},
		{name: "422", turn: refuses(422, "no such field"), asks: 1, fault: llm.BadRequest},
		{name: "context overflow", turn: coded(400, "context_length_exceeded", "no"), asks: 1, fault: llm.TooLarge},
		{name: "an answer without end", dial: endless("", strings.Repeat(": wait\n\n", 1<<12), new(int)), asks: 1, fault: llm.Endless},

		// What somebody has to mend.
		{name: "401", turn: refuses(401, "wrong key"), asks: 1, rests: 10 * time.Minute, fault: llm.Auth},
		{name: "402", turn: refuses(402, "no credits"), asks: 1, rests: 10 * time.Minute, fault: llm.Payment},
		{name: "403", turn: refuses(403, "not for you"), asks: 1, rests: time.Minute, fault: llm.Forbidden},
		{name: "404", turn: refuses(404, "renamed"), asks: 1, rests: 10 * time.Minute, fault: llm.NotFound},
		{name: "no tools", turn: refuses(400, "m does not support tools"), asks: 1, rests: 10 * time.Minute, fault: llm.NoTools},
		{name: "a web page", turn: llmtest.Turn{Raw: "<html>Log in</html>"}, asks: 1, rests: 10 * time.Minute, fault: llm.NotFound},

		// What passes by itself: two more tries, then the other one.
		{name: "408", turn: refuses(408, "late"), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Overloaded},
		{name: "409", turn: refuses(409, "busy"), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Overloaded},
		{name: "429", turn: refuses(429, "slow down"), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.RateLimit},
		{name: "429 for 2 seconds", turn: waits(429, "2"), asks: 3, takes: 4 * time.Second, rests: 30 * time.Second, fault: llm.RateLimit},
		{name: "429 for 20 seconds", turn: waits(429, "20"), asks: 1, rests: 30 * time.Second, fault: llm.RateLimit},
		{name: "429 for two hours", turn: waits(429, "7200"), asks: 1, rests: 2 * time.Hour, fault: llm.RateLimit},
		{name: "500", turn: refuses(500, "oops"), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Overloaded},
		{name: "529", turn: refuses(529, "overloaded"), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Overloaded},
		{name: "refused", dial: fails(0, os.NewSyscallError("connect", syscall.ECONNREFUSED)), asks: 3, takes: twoWaits, rests: 15 * time.Second, fault: llm.Network},
		{name: "connect hang", dial: fails(dialTimeout, os.ErrDeadlineExceeded), asks: 3, takes: twoWaits + 3*dialTimeout, rests: 15 * time.Second, fault: llm.Network},
		{name: "first byte hang", turn: llmtest.Turn{Break: llmtest.Hang}, asks: 3, takes: twoWaits + 3*120*time.Second, rests: 30 * time.Second, fault: llm.Idle},
		{name: "hang before the first word", turn: llmtest.Turn{Answer: so, Break: llmtest.Hang, At: 300}, asks: 3, takes: twoWaits + 3*120*time.Second, rests: 30 * time.Second, fault: llm.Idle},
		{name: "cut in the middle", turn: llmtest.Turn{Answer: so, Break: llmtest.Cut, At: 300}, asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Broken},
		{name: "empty", turn: taking(llm.Answer{}), asks: 3, takes: twoWaits, rests: 30 * time.Second, fault: llm.Empty},
	} {
		t.Run(c.name, func(t *testing.T) {
			overWire(t, two, c.play)
		})
		// The other way round, the model that steps in speaks another protocol than the first one.
		t.Run("anthropic/"+c.name, func(t *testing.T) {
			overWire(t, func(t *testing.T) []*host {
				return []*host{newHost(t, llm.Config{Provider: "anthropic", Model: "large"}, false), newHost(t, llm.Config{Provider: "compatible", Model: "spare"}, false)}
			}, c.play)
		})
	}
}

func (c fallbackCase) play(t *testing.T, w *wireHarness) {
	first, second := w.hosts[0], w.hosts[1]
	first.suffer(fault{turn: c.turn, dial: c.dial}, always, "well")
	second.suffer(fault{}, 0, "from the spare one")
	got := w.finished(t, w.say("do it"))
	came := first.heal()
	if said, took := w.final(t, got.ID), got.Ended.Sub(got.Started); got.State != turn.Done || said != "from the spare one" || came != c.asks || took != c.takes {
		t.Errorf("the turn is %s after %d requests and %v, and says %q; want %d, %v", got.State, came, took, said, c.asks, c.takes)
	}
	var want []string // what is wrong with one request is no news
	if c.rests > 0 {
		want = []string{"large to spare: " + string(c.fault)}
	}
	if !slices.Equal(w.switched, want) || len(second.server.Requests()) != 1 {
		t.Errorf("the owner is told %q, want %q; the second was asked %d times", w.switched, want, len(second.server.Requests()))
	}
	w.sound(t)
	if c.rests > 0 {
		w.restsUntil(t, got.Ended.Add(c.rests))
	}
	w.goesOn(t)
	w.sound(t)
}

// restsUntil checks that the second model comes first right up to a moment, and lets that moment pass.
func (w *wireHarness) restsUntil(t *testing.T, end time.Time) {
	t.Helper()
	first := len(w.hosts[0].server.Requests())
	time.Sleep(end.Add(-time.Second).Sub(w.clock.Wall()))
	got := w.finished(t, w.ask("still there?"))
	if said := w.final(t, got.ID); said != "from the spare one" || len(w.hosts[0].server.Requests()) != first {
		t.Errorf("while the first one rests, it was asked %d times, and the owner reads %q", len(w.hosts[0].server.Requests())-first, said)
	}
	time.Sleep(time.Second)
}

// What the model itself does wrong is no matter for another one.
func TestNoHandover(t *testing.T) {
	for _, c := range []struct {
		name string
		turn llmtest.Turn
		asks int
		says string
	}{
		{"refusal", taking(llm.Answer{Finish: llm.Filtered}), 1, "the model refused to answer"},
		{"cut before a word", taking(llm.Answer{Finish: llm.Length}), 1, "its whole limit of 8192 tokens"},
		{"unknown tool", streamed(llm.ToolCall, callOf("call_1", "nota", `{}`)), 3, "the same call 3 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			overWire(t, two, func(t *testing.T, w *wireHarness) {
				w.hosts[0].suffer(fault{turn: c.turn}, always, "well")
				got := w.finished(t, w.say("do it"))
				if came := w.hosts[0].heal(); got.State != turn.Failed || came != c.asks || len(w.hosts[1].server.Requests()) != 0 {
					t.Errorf("the turn is %s; the first was asked %d times, the second %d times", got.State, came, len(w.hosts[1].server.Requests()))
				}
				contains(t, w.final(t, got.ID), c.says)
				w.goesOn(t)
				w.sound(t)
			})
		})
	}
}

// When both are down, each has had its tries, and the owner reads of the last one. When the line is back, the first one answers.
func TestFaultsOfBothModels(t *testing.T) {
	overWire(t, two, func(t *testing.T, w *wireHarness) {
		gone := fault{dial: fails(0, &net.DNSError{Err: "no such host", Name: "model.test", IsNotFound: true})}
		w.hosts[0].suffer(gone, always, "well")
		w.hosts[1].suffer(gone, always, "from the spare one")
		got := w.finished(t, w.say("do it"))
		if a, b := w.hosts[0].heal(), w.hosts[1].heal(); a != 3 || b != allTries || got.Ended.Sub(got.Started) != twoWaits+allWaits {
			t.Errorf("the first was asked %d times, the second %d times, in %v", a, b, got.Ended.Sub(got.Started))
		}
		contains(t, w.final(t, got.ID), "no such host")
		w.sound(t)
		time.Sleep(time.Minute)
		w.goesOn(t)
		w.sound(t)
	})
}

// A key that one server refuses says nothing about another server that speaks the same way.
func TestAKeyIsOneServers(t *testing.T) {
	overWire(t, func(t *testing.T) []*host {
		return []*host{newHost(t, llm.Config{Provider: "compatible", Model: "large"}, false), newHost(t, llm.Config{Provider: "compatible", Model: "spare"}, false)}
	}, fallbackCase{turn: refuses(401, "wrong key"), asks: 1, rests: 10 * time.Minute, fault: llm.Auth}.play)
}

// The bytes of each request begin with those of the one before it, up to the end of its messages: that is what a provider's cache keeps.
func TestRecordedBytesKeepTheirPrefix(t *testing.T) {
	overWire(t, fault{}.hosts, func(t *testing.T, w *wireHarness) {
		h := w.hosts[0]
		h.server.Otherwise(func(r llmtest.Request) llmtest.Turn {
			if strings.HasSuffix(r.Last(), "look") {
				return llmtest.Streamed(llmtest.UseAll(use("look", fmt.Sprint(len(r.Messages))), use("look", "ü <&> \u2028")))
			}
			return llmtest.Streamed(llmtest.Say("well, \"" + fmt.Sprint(len(r.Messages)) + "\""))
		})
		for i := range 8 {
			w.finished(t, w.say([]string{"please look", "hello"}[i%2]))
		}
		all := h.server.Requests()
		if len(all) != 12 {
			t.Fatalf("%d requests, want 12", len(all))
		}
		for i := 1; i < len(all); i++ {
			before, ok := bytes.CutSuffix(all[i-1].Body, []byte("]}"))
			if !ok || !bytes.HasPrefix(all[i].Body, before) {
				t.Fatalf("request %d does not begin as the one before it:\n%s\n%s", i, all[i-1].Body, all[i].Body)
			}
		}
	})
}
