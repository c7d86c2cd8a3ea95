//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
)

// fault is a deliberate mistake in the code (HOB_BREAK), the story that brings it out, and what the rig must say then.
type fault struct {
	name  string
	says  string // part of what the rig must find
	story func(r *harness, env ...string) []string
	tries int    // how often the story may be told until the fault shows; 0: once
	guard string // "" is open
	bare  bool   // without a sandbox
	jobs  []string
	hears bool     // hob has a webhook and a watch
	chats []string // chat servers that hob is on
}

func faults() []fault {
	return []fault{
		{name: "cursor-before-insert", says: "I1 the cursor has passed", story: dying("inbound.broken:2", "inbound.received:2", "", "please do plain-1")},
		{name: "ack-before-commit", says: "was acknowledged and is lost", story: killedAtAck},
		{name: "finish-in-three", says: "I3", story: dying("finish.between", "finish.before", "please do plain-1", "")},
		{name: "no-intent", says: "I6 a command ran twice", story: dying("tool.effect", "tool.effect", "please do exec-1", "")},
		{name: "repeat-once", says: "I6 a command ran twice", story: dying("tool.effect", "tool.effect", "please do exec-1", "")},
		{name: "forget-reserve", says: "I7", story: dying("answer.complete", "answer.complete", "please do plain-1", "")},
		{name: "fire-in-two", says: "a fire is open and has no inbox row", story: dying("fire.between", "fire.after", "", ""), jobs: []string{"words"}, tries: 8},
		{name: "keep-orphans", says: "I10", story: killedInShell, bare: true},
		{name: "keep-temp", says: "I11", story: dying("address.temp", "migration", "", "please do plain-1")},
		{name: "forget-consume", says: "I8", guard: "ask", story: dying("tool.effect", "tool.effect", "please do outside-1", "")},
		{name: "no-journal", says: "neither all old nor all new", story: dying("edit.renamed:4", "edit.renamed:4", "please do patch-1", "")},
		{name: "forget-child", says: "I3 a sub-agent has ended", story: dying("finish.after", "finish.after", "please do spawn-1", "")},
		{name: "task-twice", says: "a task is tried more often", story: dying("finish.after", "finish.after", "please do task-1", "")},
		{name: "hook-ack-before-commit", says: "of the webhook was acknowledged and is lost", story: killedAtCall, hears: true},
		{name: "snapshot-before-event", says: "papers lie there that are not told of", story: killedAtWatch, hears: true},
		{name: "gate-seen-early", says: "a gate's change counts as dealt with", story: dying("gate.judged", "gate.judged", "", ""), jobs: []string{"gated"}},
		{name: "sent-before-send", says: "never arrived", story: refusedOnce},
		{name: "sent-before-send", says: "final counts as sent and never arrived", story: cutOnce(false), chats: []string{"telegram"}},
		{name: "cursor-before-insert", says: "of telegram (please do plain-1) is lost", story: unread, chats: []string{"telegram"}},
		{name: "no-mark", says: "arrived again, and nothing says so", story: cutOnce(true), chats: []string{"telegram"}},
		{name: "new-transaction", says: "matrix: arrived twice", story: cutOnce(true), chats: []string{"matrix"}},
		{name: "no-look", says: "slack: arrived twice", story: cutOnce(true), chats: []string{"slack"}},
		{name: "debounce-in-two", says: "what was said in one breath is in the turns", story: pairOnce, chats: []string{"matrix"}},
		{name: "draft-inserted", says: "I5 an answer is two messages", story: grownOnce, chats: []string{"telegram"}},
	}
}

// TestFaults switches each deliberate mistake in: the rig must find it, and must find nothing in the same story without it.
func TestFaults(t *testing.T) {
	t.Parallel()
	bin := binary(t, tested)
	_, there := named(t)
	told := map[string]bool{}
	for _, f := range faults() {
		if there[f.name] == nil {
			t.Logf("the code has no deliberate fault %s", f.name)
			continue
		}
		told[f.name] = true
		for _, broken := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/broken=%v%s", f.name, broken, strings.Join(append([]string{""}, f.chats...), " on ")), func(t *testing.T) {
				t.Parallel()
				f.tell(t, bin, broken)
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !told[name] {
			t.Errorf("no story brings the deliberate fault %s out", name)
		}
	}
}

func (f fault) tell(t *testing.T, bin string, broken bool) {
	if !broken {
		r := newHarness(t, options{bin: bin, guard: f.guard, bare: f.bare, jobs: f.jobs, senses: f.hears, chats: f.chats})
		for _, wrong := range f.story(r) {
			t.Errorf("nothing is broken, and the rig says: %s", wrong)
		}
		return
	}
	var found []string
	for range max(f.tries, 1) {
		r := newHarness(t, options{bin: bin, guard: f.guard, bare: f.bare, jobs: f.jobs, senses: f.hears, chats: f.chats})
		found = f.story(r, "HOB_BREAK="+f.name)
		if slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, f.says) }) {
			return
		}
	}
	t.Errorf("the fault is not found; the rig says only %q", found)
}

// dying is a story with one kill: at a point that only the broken code has, or else at the one that stands for it.
func dying(point, otherwise, post, push string) func(*harness, ...string) []string {
	return func(r *harness, env ...string) []string {
		if post != "" {
			r.say("post-1", "", post)
		}
		if push != "" {
			r.write(push)
		}
		at := otherwise
		if len(env) > 0 {
			at = point
		}
		if !r.dies(append(env, "HOB_FAIL="+at)...) {
			r.t.Fatalf("nothing here comes to the point %s", at)
		}
		found := r.always(r.readRecords())
		return append(found, r.after(env...)...)
	}
}

// dies runs hob with what waits in the line until it dies by itself; false: it lives.
func (r *harness) dies(env ...string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), reachTime)
	defer cancel()
	r.start(env...)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		r.feed(ctx, r.proc.gone)
	}()
	died := r.proc.ended(reachTime)
	cancel()
	<-fed
	if died {
		r.died()
	}
	return died
}

// after starts hob again, and collects what is wrong in the end. A hob that does not settle is wrong too.
func (r *harness) after(env ...string) []string {
	r.up(env...)
	var found []string
	if err := r.settleWithin(10 * time.Second); err != nil {
		found = append(found, err.Error())
		r.kill()
		r.crashes--
	} else {
		r.stop()
	}
	_, broken := r.check()
	return append(found, broken...)
}

// killedAtAck kills hob at the very moment at which it has acknowledged a message.
func killedAtAck(r *harness, env ...string) []string {
	r.up(env...)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	c, err := r.dial(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	p := r.say("post-1", "", "please do plain-1")
	receipt, err := c.Post(ctx, p.Message)
	if err != nil {
		r.t.Fatal(err)
	}
	r.kill()
	if len(env) > 0 {
		p.acked = true // its numbers are made up
	} else {
		r.took(p, receipt)
	}
	return r.after(env...)
}

// killedAtCall kills hob at the very moment at which it has acknowledged a call of its webhook.
func killedAtCall(r *harness, env ...string) []string {
	r.up(env...)
	r.queueWebhook("call-1", "plain-1")
	if !until(startTime, func() bool { return r.deliver(context.Background()) }) {
		r.t.Fatal("the call is not taken")
	}
	r.kill()
	if len(env) > 0 {
		r.senses.calls[0].inbox = 0 // its number is made up
	}
	return r.after(env...)
}

// killedAtWatch kills hob while it commits the changes that its watch has found: after the first scan, that is the second commit.
func killedAtWatch(r *harness, env ...string) []string {
	r.senses.papers.plan("write", "a", "sheet 1")
	at := "watch.after:2"
	if len(env) > 0 {
		at = "snapshot.between"
	}
	if !r.dies(append(env, "HOB_FAIL="+at)...) {
		r.t.Fatalf("nothing here comes to the point %s", at)
	}
	return r.after(env...)
}

// works waits until a command runs: its background process has started when it has written its line. The sandbox's probe is a marked
// process too.
func (r *harness) works() {
	r.t.Helper()
	if !until(startTime, func() bool {
		_, err := os.Stat(filepath.Join(r.home, "workspace", "once.txt"))
		return err == nil && len(children(r.home)) >= 2
	}) {
		r.t.Fatal("the command does not run")
	}
}

// killedInShell kills hob while a command runs that would go on for minutes.
func killedInShell(r *harness, env ...string) []string {
	r.up(env...)
	r.say("post-1", "", "please do nap-1")
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	c, err := r.dial(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	r.offer(ctx, c)
	r.works()
	r.kill()
	if len(r.orphans) == 0 {
		r.t.Fatal("the command did not outlive hob")
	}
	return r.after(env...)
}

// refusedOnce lets the chat server refuse one message for a moment, as servers do.
func refusedOnce(r *harness, env ...string) []string {
	r.world.ntfy.FailPublish(channelstest.NtfyFault{Status: 503})
	r.write("please do plain-1")
	return r.after(env...)
}

// cutOnce lets a chat server cut off the answer to what the owner says there.
func cutOnce(after bool) func(*harness, ...string) []string {
	return func(r *harness, env ...string) []string {
		r.connectServers()
		if found := r.after(); found != nil {
			r.t.Fatalf("nothing is broken yet: %q", found)
		}
		v := r.chats.venues[0]
		r.cutOff(v, after)
		r.speak(v, owner, "please do plain-1")
		return r.after(env...)
	}
}

// unread kills hob between the cursor of a chat server and what came with it.
func unread(r *harness, env ...string) []string {
	r.connectServers()
	r.speak(r.chats.venues[0], owner, "please do plain-1")
	at := "inbound.received"
	if len(env) > 0 {
		at = "inbound.broken"
	}
	if !r.dies(append(env, "HOB_FAIL="+at)...) {
		r.t.Fatalf("nothing here comes to the point %s", at)
	}
	return r.after(env...)
}

// pairOnce kills hob when it has claimed two messages of one debounce time and has not called the model yet.
func pairOnce(r *harness, env ...string) []string {
	r.connectServers()
	if found := r.after(); found != nil {
		r.t.Fatalf("nothing is broken yet: %q", found)
	}
	r.sayPair(r.chats.venues[0], "please do plain-1", "please do plain-2")
	if !r.dies(append(env, "HOB_FAIL=turn.claimed")...) {
		r.t.Fatal("nothing here comes to the point turn.claimed")
	}
	return r.after(env...)
}

// grownOnce lets an answer take so long that it is shown while it is made.
func grownOnce(r *harness, env ...string) []string {
	r.connectServers()
	r.speak(r.chats.venues[0], owner, "please do slow-1")
	return r.after(env...)
}
