package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/policy"
	"hob/daemon/secret"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const chat event.Address = "chat:1"

// harness is the thread and the command handler over a real store, with a scripted model and a few tools that count.
type harness struct {
	t     *testing.T
	dir   string
	store *store.Store
	clock sys.Clock

	mu       sync.Mutex // guards what follows
	model    llm.Model
	others   []llm.Model // that step in for it
	chain    *llm.Chain
	switched []string // what the owner would be told of
	fallback agent.Fallback
	limits   turn.Limits
	mode     policy.Mode
	policy   store.Config
	list     []tools.Tool
	ran      map[string]int
	failed   []error // of the thread and the command handler
	shelved  map[string]string
	ext      int

	small     llm.Model                     // that sub-agents can be given
	wrap      func(agent.Turns) agent.Turns // wraps the store's turns
	recall    agent.Recall
	system    func(guest bool) []turn.Section
	thread    *agent.Thread
	subagents *agent.SubagentPool
	commands  *agent.CommandHandler
	group     *sys.Group
	stop      context.CancelFunc
}

// bubble runs a test in a bubble of fake time with a rig that is up.
func bubble(t *testing.T, reply llmtest.Reply, body func(*harness), change ...func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, t.TempDir(), reply, change...)
		r.start()
		defer r.close() // also after a Fatal: nothing may be left in the bubble
		body(r)
	})
}

func newHarness(t *testing.T, dir string, reply llmtest.Reply, change ...func(*harness)) *harness {
	t.Helper()
	r := &harness{
		t: t, dir: dir, clock: sys.RealClock(), model: llmtest.NewScript(reply), mode: policy.ModeAsk, ran: map[string]int{}, shelved: map[string]string{},
		policy: store.Config{MaxAttempts: 3, PerDayMicros: -1, PerDayTokens: 10_000_000}, limits: turn.Limits{Requests: 50, Running: 15 * time.Minute},
	}
	r.system = func(bool) []turn.Section { return []turn.Section{{Name: "identity", Text: "you are hob"}} }
	r.list = []tools.Tool{
		r.tool("look", tools.Intent{Effect: tools.Read}, nil),
		r.tool("note", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Schedule}}, nil),
		r.tool("shell", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}}, nil),
		r.tool("reach", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Net}}, nil),
	}
	for _, f := range change {
		f(r)
	}
	r.store = storetest.Open(t, dir, func(o *store.Options) {
		o.Clock, o.Zone = r.clock, func() string { return "Europe/Berlin" }
		o.Owner, o.Config = func() []event.Address { return []event.Address{chat} }, func() store.Config { return locked(r, &r.policy) }
	})
	r.wire()
	return r
}

func locked[T any](r *harness, v *T) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *v
}

// models is the chain of the rig's models; it remembers failures as long as they stay the same.
func (r *harness) models() *llm.Chain {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chain == nil || r.chain.First() != r.model {
		r.chain = llm.NewChain(r.model, r.others...)
	}
	return r.chain
}

func (r *harness) onSwitch(s agent.Switch) event.Out {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause := string(llm.FaultOf(s.Cause))
	if errors.Is(s.Cause, turn.ErrBudget) {
		cause = "budget"
	}
	r.switched = append(r.switched, fmt.Sprintf("%s to %s: %s", s.From.Model, s.To.Model, cause))
	return event.Out{To: event.ToNone}
}

// useGood knows one model.
func useGood(_ context.Context, name string) (string, error) {
	if name != "good" {
		return "", event.NewFault(event.Missing, "there is good", "there is no model %q", name)
	}
	return "From now on I ask good.", nil
}

func (r *harness) wire() {
	log := slog.New(slog.DiscardHandler)
	set, err := tools.NewSet(r.list...)
	if err != nil {
		r.t.Fatal(err)
	}
	settings := func(context.Context) agent.Settings {
		r.mu.Lock()
		defer r.mu.Unlock()
		return agent.Settings{Zone: "Europe/Berlin", OwnerAddresses: []event.Address{chat}, Mode: r.mode, Limits: r.limits, System: r.system, Heartbeat: func() string { return "look around" }}
	}
	dispatch := &agent.Dispatch{Set: set, Artifacts: r, Settings: settings, Grants: r.store.Grants.List, Clock: r.clock, Log: log}
	r.thread = &agent.Thread{
		Queue: r.store.Turns, Turns: r.store.Turns, Prompts: r.store.Turns, History: r.store.Turns, Dispatch: dispatch, Models: r.models, Fallback: r.fallback,
		Switched: r.onSwitch, Recall: r.recall, Ended: r.store.Turns.Ended,
		RunningTurn: &agent.RunningTurn{}, Settings: settings, Feed: &event.Feed{}, Hidden: (&secret.Redactor{}).Writer, Clock: r.clock, Jitter: func() float64 { return 0.5 }, Log: log,
	}
	r.commands = &agent.CommandHandler{Commands: r.store.Commands, Conversations: r.store.Commands, Stops: r.store.Commands, Outgoing: r.store.Commands, Reports: fakeReports{}, Stop: r.thread.Stop, Use: useGood, Clock: r.clock, Log: log}
	if r.wrap != nil {
		r.thread.Turns = r.wrap(r.store.Turns)
	}
	r.thread.Boundary = r.commands.Serve
	r.subagents = &agent.SubagentPool{Thread: r.thread, Children: r.store.Subagents, Named: func(context.Context, string) *llm.Chain { return llm.NewChain(r.small) }}
}

// fakeReports answers the commands that only read.
type fakeReports struct{}

func (fakeReports) Text(_ context.Context, topic, arg string) (string, error) {
	if arg == "nothing" {
		return "", event.NewFault(event.Missing, "", "there is no message nothing")
	}
	return strings.TrimSpace("board " + topic + " " + arg), nil
}

// Keep stores a large result as an artifact.
func (r *harness) Keep(_ context.Context, name string, data []byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fmt.Sprintf("a%d", len(r.shelved)+1)
	r.shelved[id] = name + ":" + string(data)
	return id, nil
}

func (r *harness) KeepForeign(ctx context.Context, name, source string, data []byte) (string, error) {
	return r.Keep(ctx, name+" from "+source, data)
}

func (r *harness) start() {
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	r.group = sys.NewGroup(slog.New(slog.DiscardHandler), func(name string, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failed = append(r.failed, fmt.Errorf("%s: %w", name, err))
	})
	r.group.Go(ctx, "thread", r.thread.Run)
	r.group.Go(ctx, "commands", r.commands.Run)
	r.group.Go(ctx, "subagents", r.subagents.Run)
}

// halt ends the thread and the command handler, as at a shutdown.
func (r *harness) halt() {
	r.stop()
	r.group.Wait()
}

func (r *harness) close() {
	r.halt()
	storetest.Close(r.t, r.store)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.failed {
		r.t.Errorf("a part failed: %v", err)
	}
}

// snapshot copies the state as a crash would leave it at this very moment. It is called while nothing is being written.
func (r *harness) snapshot() string {
	dir := r.t.TempDir()
	for _, name := range []string{"hob.db", "hob.db-wal"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			r.t.Errorf("copy %s: %v", name, err)
		}
	}
	return dir
}

// reborn opens what a crash has left, with this rig's settings, and runs a body over it.
func (r *harness) reborn(dir string, reply llmtest.Reply, body func(*harness), change ...func(*harness)) {
	r.t.Helper()
	next := newHarness(r.t, dir, reply, append([]func(*harness){func(n *harness) {
		n.policy, n.limits, n.ext = locked(r, &r.policy), locked(r, &r.limits), locked(r, &r.ext)
	}}, change...)...)
	next.start()
	defer next.close()
	body(next)
}

// post accepts an input and returns its seq.
func (r *harness) post(in event.In) int64 {
	r.t.Helper()
	r.mu.Lock()
	r.ext++
	ext := fmt.Sprintf("m%d", r.ext)
	r.mu.Unlock()
	if in.ExtID == "" {
		in.ExtID = ext
	}
	if in.Received.IsZero() {
		in.Received = r.clock.Wall()
	}
	receipts, err := r.store.Inbox.Accept(context.Background(), []event.In{in}, nil)
	if err != nil {
		r.t.Fatalf("accept: %v", err)
	}
	return receipts[0].Inbox
}

// say is a message of the owner; what begins with a slash is a command.
func (r *harness) say(text string) int64 {
	r.t.Helper()
	return r.post(ownerSays(text))
}

func ownerSays(text string) event.In {
	kind := event.Message
	if strings.HasPrefix(text, "/") {
		kind = event.Command
	}
	return event.In{Source: "chat", Session: "main", Kind: kind, Rank: event.RankOwner, Trust: event.Owner, ReplyTo: chat, Typed: true, Parts: event.Say(text)}
}

// stranger is a message of somebody else in the same session.
func stranger(text string) event.In {
	in := ownerSays(text)
	in.Trust, in.Rank, in.ReplyTo, in.Typed = event.Known, event.RankRest, "chat:7", false
	return in
}

// rows is what people see.
func (r *harness) rows() *store.View { return store.NewView(r.store.Reader(), r.clock.Wall) }

// settle waits until nobody has anything to do without time passing.
func (r *harness) settle() { synctest.Wait() }

// ask says something and waits until it is dealt with.
func (r *harness) ask(text string) int64 {
	r.t.Helper()
	seq := r.say(text)
	r.settle()
	return seq
}

func (r *harness) inbox(seq int64) api.InboxRow {
	r.t.Helper()
	row, err := r.rows().InboxRow(context.Background(), fmt.Sprint(seq))
	if err != nil {
		r.t.Fatalf("inbox %d: %v", seq, err)
	}
	return row
}

func (r *harness) turns() []api.Turn {
	r.t.Helper()
	list, err := r.rows().TurnRows(context.Background(), event.Filter{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (r *harness) turn(id int64) api.TurnDetail {
	r.t.Helper()
	v, err := r.rows().TurnView(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// outbox is all that was ever queued, oldest first.
func (r *harness) outbox() []api.OutboxRow {
	r.t.Helper()
	list, err := r.rows().OutboxRows(context.Background(), event.Filter{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (r *harness) bodies() []string {
	r.t.Helper()
	var list []string
	for _, o := range r.outbox() {
		list = append(list, o.Body)
	}
	return list
}

// lastBody is the newest message that went out.
func (r *harness) lastBody() string {
	r.t.Helper()
	all := r.bodies()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

func (r *harness) questions() []api.Question {
	r.t.Helper()
	list, err := r.rows().QuestionRows(context.Background(), event.Filter{})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// code is the code of the only open question.
func (r *harness) code() string {
	r.t.Helper()
	var open []string
	for _, q := range r.questions() {
		if q.State == "open" {
			open = append(open, q.Code)
		}
	}
	if len(open) != 1 {
		r.t.Fatalf("%d open questions, want 1: %+v", len(open), r.questions())
	}
	return open[0]
}

func (r *harness) events() []string {
	r.t.Helper()
	list, err := r.store.Events.EventsAfter(context.Background(), 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	var types []string
	for _, e := range list {
		types = append(types, e.Type)
	}
	return types
}

// finishedLine returns the line about a failed call that the event of the newest call's end has.
func (r *harness) finishedLine() (line string) {
	r.t.Helper()
	list, err := r.store.Events.EventsAfter(context.Background(), 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list {
		if e.Type == "tool.finished" {
			line, _ = e.Data["failed"].(string)
		}
	}
	return line
}

func (r *harness) budget() api.Budget {
	r.t.Helper()
	b, err := r.store.Spending.Spent(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// sql changes rows behind the back of all rules.
func (r *harness) sql(query string, args ...any) {
	r.t.Helper()
	err := r.store.Write(context.Background(), func(tx *store.Tx) error {
		return tx.Run(query, args...)
	})
	if err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
}

// wantStates checks the states of all turns, oldest first.
func (r *harness) wantStates(states ...turn.Status) {
	r.t.Helper()
	var got []turn.Status
	for _, t := range r.turns() {
		got = append(got, t.State)
	}
	if !slices.Equal(got, states) {
		r.t.Errorf("turns are %v, want %v", got, states)
	}
}

func (r *harness) wantBodies(want ...string) {
	r.t.Helper()
	if got := r.bodies(); !slices.Equal(got, want) {
		r.t.Errorf("sent %q, want %q", got, want)
	}
}

// results are the results of a turn's calls, in order.
func (r *harness) results(id int64) []string {
	r.t.Helper()
	var list []string
	for _, it := range r.turn(id).Items {
		if it.Kind == string(llm.ResultItem) {
			list = append(list, it.Text)
		}
	}
	return list
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not say %q", text, part)
	}
}
