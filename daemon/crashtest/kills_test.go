//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// Kills of one home. Then it is settled, stopped and checked, and a new one begins, so that a fault is found near its cause.
const perHome = 50

// TestRandomKills kills the release build at random instants: while it starts, while it is idle, while it works.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	bin := binary(t, release)
	begin := time.Now()
	var sum counts
	for n := 0; sum.kills < *kills && !t.Failed(); n++ {
		one, broken := segment(t, bin, *seed+uint64(n), min(perHome, *kills-sum.kills))
		for _, b := range broken {
			t.Errorf("seed %d: %s", *seed+uint64(n), b)
		}
		sum.add(one)
	}
	t.Logf("%d kills, %d inputs, %d turns: %d lost, %d doubled, %d dead letters, %d held as unknown, %d repeated model calls, %d marked repeats; %d calls, %d papers, %d letters; %s",
		sum.kills, sum.inputs, sum.turns, sum.lost, sum.doubled, sum.dead, sum.held, sum.repeated, sum.marked, sum.calls, sum.papers, sum.letters, time.Since(begin).Round(time.Second))
	t.Log("chat servers by class:\n" + table(sum.classes))
	var all serverCounts
	for _, s := range sum.classes {
		all.add(s)
	}
	if sum.kills >= thorough && (all.cuts == 0 || all.repeated == 0 || all.files == 0 || all.bursts == 0 || all.grew == 0) {
		t.Error("nothing was cut off or repeated, no file was sent, nothing was said in one breath or no answer grew: the chat servers were not put to the test")
	}
	if sum.kills >= thorough {
		all.changed(t)
	}
	if *kills >= 2*perHome && (sum.calls == 0 || sum.papers == 0 || sum.letters == 0) {
		t.Error("nothing called, nothing lay there or no letter came: what hob notices was not put to the test")
	}
	if sum.dead > 0 {
		t.Errorf("%d dead letters, although attempts have no limit here", sum.dead)
	}
}

// segment is the life of one home with n kills.
func segment(t *testing.T, bin string, seed uint64, n int) (counts, []string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	guard := "open"
	if seed%3 == 0 {
		guard = "ask"
	}
	r := newHarness(t, options{bin: bin, seed: seed, guard: guard, bare: seed%4 == 2, jobs: []string{"tick-1", "words", "gated", "mail", "caught"}, senses: true, chats: allServers})
	r.chats.growing = *kills >= thorough && seed%2 == 1
	r.connectServers()
	for k := range n {
		r.someInput(rng, k)
		r.planTriggers(rng, k)
		r.planChatEvents(rng, k)
		r.planEdits(rng, k)
		if r.chats.growing && k == n/4 {
			r.watchGrow(rng, k)
			continue
		}
		if k == n/2 {
			r.settleTriggers()
			continue
		}
		r.cycle(rng)
	}
	r.up()
	for i, session := range []string{"", "s1", "s2"} {
		r.say(fmt.Sprintf("last-%d", i), session, fmt.Sprintf("please do plain-%d", 9000+i)) // I12: each session can still be asked
	}
	if err := r.settle(); err != nil {
		t.Fatalf("seed %d after %d kills: %v", seed, r.crashes, err)
	}
	r.stop()
	return r.check()
}

// mix is how often each kind of input comes.
var mix = []string{
	"plain", "plain", "plain", "plain", "plain", "plain", "file", "file", "exec", "exec", "exec", "two", "two", "chain", "chain",
	"stray", "big", "note", "note", "cron", "ask", "long", "/status", "/jobs", "again", "backup",
	"send", "send", "patch", "patch", "spawn", "spawn", "task", "task", "plan", "todo", "bg", "page", "outside", "taint", "keep", "keep",
}

// someInput puts up to three inputs in the line, of which hob may be told at once, or after the kill.
func (r *harness) someInput(rng *rand.Rand, k int) {
	for i := range rng.IntN(4) {
		id := fmt.Sprintf("%d", 10*k+i)
		kind := mix[rng.IntN(len(mix))]
		text := "please do " + kind + "-" + id
		switch {
		case kind == "again":
			r.repost(rng)
			continue
		case kind == "backup":
			r.mu.Lock()
			r.backup = 1
			r.mu.Unlock()
			continue
		case kind[0] == '/':
			text = kind
		case kind == "outside" || kind == "taint" || kind == "plan": // in a conversation of its own: it can do less from then on, or for a while
			r.say("post-"+id, kind+id, text)
			continue
		}
		if way := rng.IntN(8); way < 4 {
			if kind == "plain" && rng.IntN(6) == 0 {
				text = "/new"
			}
			if way == 0 || r.chats == nil {
				r.write(text)
			} else {
				r.speak(r.chats.venues[way-1], owner, text)
			}
			continue
		}
		r.say("post-"+id, []string{"", "s1", "s2"}[rng.IntN(3)], text)
	}
}

// repost offers an acknowledged message once more, as a client does that has not heard the answer.
func (r *harness) repost(rng *rand.Rand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.posts) > 0 {
		r.posts[rng.IntN(len(r.posts))].again = true
	}
}

// cycle is one life of the daemon, from its start to its kill.
func (r *harness) cycle(rng *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.start()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		r.feed(ctx, r.proc.gone)
	}()
	r.await(rng)
	if ended(r.proc) {
		r.t.Fatalf("hob ended by itself: %v\n%s", r.proc.err, r.proc.said)
	}
	gone := r.proc.gone
	r.proc.signal(syscall.SIGKILL)
	<-gone
	cancel()
	<-fed
	r.died()
}

// await lets the daemon live for a random time, measured from its start, from its ready line, or from a model request.
func (r *harness) await(rng *rand.Rand) {
	way := rng.IntN(5)
	if way == 0 {
		happens(r.proc.gone, time.Duration(rng.IntN(80_000))*time.Microsecond)
		return
	}
	select {
	case <-r.proc.ready:
		r.checkOrphans()
	case <-r.proc.gone:
		return
	case <-time.After(startTime):
		r.t.Fatalf("hob was not ready within %s\n%s", startTime, r.proc.said)
	}
	most := 60_000
	switch way {
	case 2:
		most = 300_000
	case 3, 4:
		select {
		case <-r.world.asked: // an old request may be noted: then this is way 1
		default:
		}
		select {
		case <-r.world.asked:
		case <-r.proc.gone:
		case <-time.After(400 * time.Millisecond):
		}
		most = 25_000
	}
	happens(r.proc.gone, time.Duration(rng.IntN(most))*time.Microsecond)
}
