//go:build linux

package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// Limits of waiting. They only matter when something is broken.
const (
	startTime  = 30 * time.Second
	settleTime = 60 * time.Second
	stopTime   = 20 * time.Second
)

// harness is one home directory, the fakes outside, and the daemon that is killed again and again.
type harness struct {
	t     *testing.T
	bin   string
	home  string
	world *outside
	proc  *process

	crashes int
	orphans map[int]string // children that lived when the daemon was killed

	mu     sync.Mutex // guards what follows
	wrong  []string   // what was found wrong between two runs
	posts  []*post
	pushes map[string]push // by ntfy id
	jobs   []string        // that shall be there
	made   map[string]bool // jobs that are there
	backup int             // backups that shall be made
	senses *triggerSources // nil: nothing but messages comes in
	chats  *chatState      // nil: the owner writes by ntfy and over the API alone
}

// post is one message over the local API. It is offered with the same id until hob says that it has it.
type post struct {
	client.Message
	receipt event.Receipt
	acked   bool
	again   bool // offer it once more although it was acknowledged
}

// push is one message by ntfy.
type push struct {
	text string
	at   int64 // on the server's clock
}

type options struct {
	bin       string
	seed      uint64
	guard     string // "open" unless given
	bare      bool   // commands run without a sandbox, which would end them with hob
	attempts  int    // endless unless given
	safeAfter int    // never unless given
	jobs      []string
	senses    bool     // hob has a webhook and a watch
	chats     []string // the chat servers that hob is on
	window    int      // of the model, in tokens; 0: nothing is ever compacted
}

const never = 1_000_000

func newHarness(t *testing.T, o options) *harness {
	t.Helper()
	if o.guard == "" {
		o.guard = "open"
	}
	if o.attempts == 0 {
		o.attempts = never
	}
	if o.safeAfter == 0 {
		o.safeAfter = never
	}
	r := &harness{t: t, bin: o.bin, home: filepath.Join(t.TempDir(), "home"), world: newOutside(t, o.seed), pushes: map[string]push{}, jobs: o.jobs, made: map[string]bool{}}
	for _, dir := range []string{r.home, filepath.Join(filepath.Dir(r.home), "beside"), filepath.Join(filepath.Dir(r.home), "papers"), filepath.Join(r.home, "workspace", "memory")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Something to remember: without a file, turns search nothing, and nothing is indexed.
	if err := os.WriteFile(filepath.Join(r.home, "workspace", "memory", "facts.md"), []byte("# House\n\nPlease do the printer, which is called Emil, every tick.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(o.chats) > 0 {
		r.chats = &chatState{venues: chatServers(t, o.chats), replies: map[*chatServer]int{}, cuts: map[*chatServer]int{}, due: map[*chatServer]func() bool{}, looks: map[string]int{}}
	}
	r.world.posts = r.addresses()
	text := r.world.config(o, r.addresses()) + r.sections()
	if o.senses {
		r.senses = newTriggerSources(filepath.Dir(r.home))
		text += r.senses.config()
	}
	if err := os.WriteFile(filepath.Join(r.home, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.proc != nil {
			r.proc.signal(syscall.SIGKILL)
			<-r.proc.gone
		}
		for pid, start := range children(r.home) {
			if startOf(pid) == start {
				_ = syscall.Kill(pid, syscall.SIGKILL) // started for this test only
			}
		}
	})
	return r
}

// start starts the daemon and returns at once.
func (r *harness) start(env ...string) {
	r.t.Helper()
	p, err := launch(r.bin, r.home, env...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.proc = p
}

// up starts the daemon and waits for its ready line.
func (r *harness) up(env ...string) {
	r.t.Helper()
	r.start(env...)
	select {
	case <-r.proc.ready:
		r.checkOrphans()
	case <-r.proc.gone:
		r.t.Fatalf("hob ended instead of starting: %v\n%s", r.proc.err, r.proc.said)
	case <-time.After(startTime):
		r.t.Fatalf("hob was not ready within %s\n%s", startTime, r.proc.said)
	}
}

// kill ends the daemon as a power cut would, as far as a process can tell.
func (r *harness) kill() {
	r.proc.signal(syscall.SIGKILL)
	<-r.proc.gone
	r.died()
}

// died notes an unclean end.
func (r *harness) died() {
	r.crashes++
	r.orphans = children(r.home)
	r.proc = nil
}

// checkOrphans is I10: once hob is ready, nothing lives that an earlier run started.
func (r *harness) checkOrphans() {
	r.mu.Lock()
	defer r.mu.Unlock()
	alive := children(r.home) // which one that is being taken apart by the system is not
	for pid, start := range r.orphans {
		if alive[pid] == start {
			r.wrong = append(r.wrong, fmt.Sprintf("I10 process %d of an earlier run is alive", pid))
		}
	}
	r.orphans = nil
}

// stop ends the daemon as a service manager does.
func (r *harness) stop() {
	r.t.Helper()
	r.proc.signal(syscall.SIGTERM)
	if !r.proc.ended(stopTime) {
		r.t.Fatalf("hob did not stop within %s\n%s", stopTime, r.proc.said)
	}
	if r.proc.err != nil {
		r.t.Errorf("hob did not stop cleanly: %v\n%s", r.proc.err, r.proc.said)
	}
	r.proc = nil
}

// say puts a message for the local API in the line; the feeder brings it there.
func (r *harness) say(id, session, text string) *post {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &post{Message: client.Message{ID: id, Session: session, Text: text}}
	r.posts = append(r.posts, p)
	return p
}

// write is the owner writing in his chat app, whether or not hob listens.
func (r *harness) write(text string) string {
	id, at := r.world.publish(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pushes[id] = push{text: text, at: at}
	return id
}

// pending are the messages that hob has not taken yet, or that are offered once more.
func (r *harness) pending() []*post {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*post
	for _, p := range r.posts {
		if !p.acked || p.again {
			list = append(list, p)
		}
	}
	return list
}

// dial finds the daemon; an error that it is not there, or not yet.
func (r *harness) dial(ctx context.Context) (*client.Client, error) {
	return client.Find(ctx, r.home, false)
}

// feed brings hob all that waits for it, again and again, until ctx ends or hob has gone.
func (r *harness) feed(ctx context.Context, gone <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := r.dial(ctx); err == nil {
			r.offer(ctx, c)
		}
		select {
		case <-ctx.Done():
			return
		case <-gone:
			return
		case <-tick.C:
		}
	}
}

// offer posts what is pending, makes the jobs, answers the questions. It ends at the first sign that hob is not there.
func (r *harness) offer(ctx context.Context, c *client.Client) {
	for _, p := range r.pending() {
		receipt, err := c.Post(ctx, p.Message)
		if err != nil {
			return
		}
		r.took(p, receipt)
	}
	if r.plan(ctx, c) && r.save(ctx, c) && r.deliverTriggers(ctx, c) {
		r.answer(ctx, c)
	}
}

// took notes that a message was acknowledged. The same id must get the same numbers.
func (r *harness) took(p *post, receipt event.Receipt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.acked && (p.receipt.Inbox != receipt.Inbox || p.receipt.Event != receipt.Event) {
		r.wrong = append(r.wrong, fmt.Sprintf("I1 message %s was acknowledged as %+v and again as %+v", p.ID, p.receipt, receipt))
	}
	p.receipt, p.acked, p.again = receipt, true, false
}

// plan makes the jobs that are not there yet: one that lets the model speak, one that is a plain reminder,
// two behind gates, one that catches up on all that it missed.
func (r *harness) plan(ctx context.Context, c *client.Client) bool {
	for _, name := range r.jobs {
		if r.made[name] {
			continue
		}
		prompt := "please do " + name
		in := map[string]any{"action": "add", "name": name, "schedule": "every 1s", "prompt": prompt, "session": "isolated", "deliver": "owner"}
		switch name {
		case "words":
			in["prompt"] = "say: the words of a reminder"
		case "gated": // by what the tools write
			in["prompt"], in["gate"] = "say: the files have changed", "files:**"
		case "mail": // by what the world writes
			in["prompt"], in["gate"] = "say: there is mail", "files:mail/*"
		case "caught":
			in["prompt"], in["missed"], in["overlap"] = "say: nothing is left out", "all", "queue"
		}
		o, err := r.cron(ctx, c, in)
		if err != nil {
			return false
		}
		r.made[name] = o.Success || o.Error == "conflict"
	}
	return true
}

func (r *harness) cron(ctx context.Context, c *client.Client, in map[string]any) (api.Outcome, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return api.Outcome{}, err
	}
	return client.Do(ctx, c, api.CallTool, "cron", client.ToolCall{Input: raw})
}

// save asks for the backups that shall be made.
func (r *harness) save(ctx context.Context, c *client.Client) bool {
	r.mu.Lock()
	n := r.backup
	r.backup = 0
	r.mu.Unlock()
	for range n {
		if _, err := client.Do(ctx, c, api.CreateBackup, "", api.BackupPath{}); err != nil {
			return false
		}
	}
	return true
}

// answer is the owner: he says yes to everything, once to each question, in a message with an id of its own.
func (r *harness) answer(ctx context.Context, c *client.Client) {
	open, err := client.List(ctx, c, api.Questions, client.Filter{State: "open", Limit: 200})
	if err != nil {
		return
	}
	for _, q := range open {
		if r.pressButtons(q) {
			continue
		}
		text := "/approve " + q.Code
		switch {
		case q.Subject == "outbox" && !strings.Contains(q.Text, " to ntfy:") && q.Code[0]%2 == 0:
			text = "/deny " + q.Code
		case strings.HasPrefix(q.Text, "My plan:"):
			text = "/answer " + q.Code + " 1"
		case q.Subject == "ask":
			text = "/answer " + q.Code + " the answer for " + tokens.FindString(q.Text)
		}
		r.once("answer-"+q.Code, text)
	}
}

// once says something over the API unless it was said already.
func (r *harness) once(id, text string) {
	r.mu.Lock()
	for _, p := range r.posts {
		if p.ID == id {
			r.mu.Unlock()
			return
		}
	}
	r.mu.Unlock()
	r.say(id, "", text)
}

var errUnsettled = errors.New("not settled")

// settle lets the running daemon finish everything: nothing waits, runs, or is on its way. A daemon that does not settle
// is ended, and its last log lines and the stacks of its goroutines are part of the error.
func (r *harness) settle() error {
	err := r.settleWithin(settleTime)
	if err == nil || ended(r.proc) {
		return err
	}
	r.proc.signal(syscall.SIGQUIT) // the Go runtime writes all stacks and ends the process
	r.proc.ended(stopTime)
	return fmt.Errorf("%w\nand with all stacks:\n%s", err, r.proc.said)
}

func (r *harness) settleWithin(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit+startTime)
	defer cancel()
	done := make(chan struct{})
	own, stop := context.WithCancel(ctx)
	go func() {
		defer close(done)
		r.feed(own, r.proc.gone)
	}()
	defer func() {
		stop()
		<-done
	}()
	var why string
	ok := untilEvery(100*time.Millisecond, limit, func() bool { // a look is a dozen requests, which hob pays for
		if now := r.unsettled(ctx); ctx.Err() == nil {
			why = now
		}
		return why == "" || ended(r.proc)
	})
	if !ok || why != "" {
		return fmt.Errorf("%w: %s\n%s", errUnsettled, why, r.proc.said)
	}
	return nil
}

func ended(p *process) bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// unsettled names the first thing that is still open; "" is nothing.
func (r *harness) unsettled(ctx context.Context) string {
	if n := len(r.pending()); n > 0 {
		return fmt.Sprintf("%d messages are not taken", n)
	}
	c, err := r.dial(ctx)
	if err != nil {
		return err.Error()
	}
	if why := r.pendingTrigger(ctx, c); why != "" {
		return why
	}
	for _, name := range r.jobs {
		o, err := r.cron(ctx, c, map[string]any{"action": "pause", "name": name})
		if err != nil || !o.Success && o.Error != "conflict" {
			return fmt.Sprintf("job %s is not paused: %v %s", name, err, o.Message)
		}
	}
	if why := r.unreadMessages(ctx, c); why != "" {
		return why
	}
	for _, look := range []struct{ resource, state string }{
		{"questions", "open"}, {"inbox", "queued"}, {"inbox", "joined"}, {"inbox", "held"}, {"turns", "ready"}, {"turns", "running"}, {"turns", "waiting"}, {"outbox", "ready"}, {"outbox", "draft"}, {"fires", "due"},
	} {
		rows, err := client.List(ctx, c, api.List[json.RawMessage]("GET /v1/"+look.resource), client.Filter{State: look.state, Limit: 3})
		if err != nil {
			return err.Error()
		}
		if len(rows) > 0 {
			return fmt.Sprintf("%s %s: %.600s", look.state, look.resource, rows[0])
		}
	}
	return ""
}

// unreadMessages names messages that a chat server holds and hob has not received yet.
func (r *harness) unreadMessages(ctx context.Context, c *client.Client) string {
	if why := r.unreceivedMessage(ctx, c); why != "" {
		return why
	}
	there, err := r.inboxOf(ctx, c, "ntfy")
	if err != nil {
		return err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.pushes {
		if !there[id] {
			return fmt.Sprintf("message %s (%s) has not come in", id, p.text)
		}
	}
	return ""
}
