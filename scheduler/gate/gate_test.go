package gate_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/event"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " \n\t\n": true, "\ufeff\n": true, "# Heartbeat": true, "# Heartbeat\n\n## Later\n": true, "<!-- feed the cat -->": true, "<!--\nfeed\nthe cat\n-->\n# x": true,
		"<!-- never ends\nfeed the cat": true, "- [ ]\n-\n*\n---\n": true, "####### seven": false, "#hashtag": false, "feed the cat": false,
		"# Heartbeat\nfeed the cat": false, "<!-- x --> feed the cat": false, "- [ ] feed the cat": false, "<!-- a -->\n<!-- b -->\nx": false, "######": true,
	} {
		if got := (gate.Text{Text: text}).Empty(); got != want {
			t.Errorf("%q is empty: %v", text, got)
		}
	}
}

// fakeChecks is what the tests make of it.
type fakeChecks struct {
	mu     sync.Mutex
	busy   string
	text   gate.Text
	files  string
	page   gate.Page
	output gate.Output
	err    error
	asked  []string
	last   gate.Page     // that Page was told of
	hangs  time.Duration // how long a command takes
	atOnce int
	most   int
}

func (w *fakeChecks) note(part string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, part)
	return w.err
}

func (w *fakeChecks) Busy(context.Context, scheduler.Job) (string, error) {
	return w.busy, w.note("busy")
}

func (w *fakeChecks) Content(context.Context, scheduler.Job) (gate.Text, error) {
	return w.text, w.note("content")
}

func (w *fakeChecks) Files(context.Context, scheduler.Job) (string, error) {
	return w.files, w.note("files")
}

func (w *fakeChecks) Page(_ context.Context, _ scheduler.Job, last gate.Page) (gate.Page, error) {
	w.last = last
	return w.page, w.note("page")
}

func (w *fakeChecks) Command(ctx context.Context, _ scheduler.Job) (gate.Output, error) {
	w.mu.Lock()
	w.atOnce++
	w.most = max(w.most, w.atOnce)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.atOnce--; w.mu.Unlock() }()
	if w.hangs > 0 {
		select {
		case <-ctx.Done():
			return gate.Output{}, ctx.Err()
		case <-time.After(w.hangs):
		}
	}
	return w.output, w.note("command")
}

// slotStore keeps due slots in memory.
type slotStore struct {
	mu   sync.Mutex
	due  []gate.Slot
	said []gate.Verdict
	err  error
}

func (s *slotStore) Gated(_ context.Context, _ time.Time, most int) ([]gate.Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.due[:min(most, len(s.due))]), nil
}

func (s *slotStore) GatesWait(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due) > 0, nil
}

func (s *slotStore) Judge(_ context.Context, v gate.Verdict) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	n := len(s.due)
	s.due = slices.DeleteFunc(s.due, func(d gate.Slot) bool { return d.Fire == v.Fire })
	if len(s.due) < n {
		s.said = append(s.said, v)
	}
	return nil
}

func slot(g scheduler.Gate) gate.Slot {
	return gate.Slot{Fire: 7, Key: "2026-11-21T12:00:00Z", Note: "(1 earlier run)", Job: scheduler.Job{
		Trigger: scheduler.Trigger{ID: 3, Name: "look", Prompt: "see to it", Trust: event.Owner, Typed: true}, Zone: "Europe/Berlin", Session: "main", Gate: g,
	}}
}

// judged runs a runner until all slots are judged, in a bubble whose clock stands at noon in UTC.
func judged(t *testing.T, w *fakeChecks, slots ...gate.Slot) []gate.Verdict {
	t.Helper()
	s := &slotStore{due: slots}
	synctest.Test(t, func(t *testing.T) {
		noon := sys.ShiftedClock(func() time.Duration {
			return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		k := gate.NewRunner(s, w, noon, nil, slog.New(slog.DiscardHandler))
		go func() { ended <- k.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if idle := noon.Mono() - k.Progress(); idle > 31*time.Second {
			t.Errorf("no progress for %s", idle)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return s.said
}

// What each part of a gate says of a world, with what it saw when the job last ran well.
func TestVerdicts(t *testing.T) {
	known := `{"command":"c1","page":{"link":"l","etag":"e1","hash":"h1"},"files":"f1"}`
	for name, c := range map[string]struct {
		gate       scheduler.Gate
		fakeChecks *fakeChecks
		seen       string
		outcome    scheduler.Outcome
		reason     string
		told       string // behind prompt and note
	}{
		"a first output":         {scheduler.Gate{Command: "x"}, &fakeChecks{output: gate.Output{Hash: "c1"}}, "", "", "", "(gate: the command's output is new)"},
		"a new output":           {scheduler.Gate{Command: "x"}, &fakeChecks{output: gate.Output{Hash: "c2"}}, known, "", "", "(gate: the command's output is new)"},
		"the same output":        {scheduler.Gate{Command: "x"}, &fakeChecks{output: gate.Output{Hash: "c1"}}, known, scheduler.OutcomeSkipped, "gate: no change", ""},
		"the same, another code": {scheduler.Gate{Command: "x"}, &fakeChecks{output: gate.Output{Hash: "c1", Code: 1}}, known, scheduler.OutcomeSkipped, "gate: no change", ""},
		"what cannot be read":    {scheduler.Gate{Command: "x"}, &fakeChecks{output: gate.Output{Hash: "c1"}}, "{spoilt", "", "", "(gate: the command's output is new)"},
		"code 0":                 {scheduler.Gate{Command: "x", Exit: true}, &fakeChecks{output: gate.Output{Hash: "c1"}}, known, "", "", "(gate: the command ended with code 0)"},
		"code 3":                 {scheduler.Gate{Command: "x", Exit: true}, &fakeChecks{output: gate.Output{Hash: "c2", Code: 3}}, known, scheduler.OutcomeSkipped, "gate: exit code 3", ""},
		"a new page":             {scheduler.Gate{URL: "l"}, &fakeChecks{page: gate.Page{Link: "l", Hash: "h2", ETag: "e1"}}, known, "", "", "(gate: the page is new)"},
		"the same page":          {scheduler.Gate{URL: "l"}, &fakeChecks{page: gate.Page{Link: "l", Hash: "h1", ETag: "e2"}}, known, scheduler.OutcomeSkipped, "gate: no change", ""},
		"not modified":           {scheduler.Gate{URL: "l"}, &fakeChecks{page: gate.Page{Link: "l"}}, known, scheduler.OutcomeSkipped, "gate: no change", ""},
		"another address":        {scheduler.Gate{URL: "m"}, &fakeChecks{page: gate.Page{Link: "m", Hash: "h1"}}, known, "", "", "(gate: the page is new)"},
		"new files":              {scheduler.Gate{Files: []string{"a"}}, &fakeChecks{files: "f2"}, known, "", "", "(gate: the files are new)"},
		"the same files":         {scheduler.Gate{Files: []string{"a"}}, &fakeChecks{files: "f1"}, known, scheduler.OutcomeSkipped, "gate: no change", ""},
		"busy":                   {scheduler.Gate{Idle: true}, &fakeChecks{busy: "hob is busy"}, "", scheduler.OutcomeSkipped, "hob is busy", ""},
		"idle":                   {scheduler.Gate{Idle: true}, &fakeChecks{}, "", "", "", ""},
		"an empty wish":          {scheduler.Gate{Content: "HEARTBEAT.md"}, &fakeChecks{text: gate.Text{Text: "# x"}}, "", scheduler.OutcomeSkipped, "HEARTBEAT.md is empty", ""},
		"a wish":                 {scheduler.Gate{Content: "HEARTBEAT.md"}, &fakeChecks{text: gate.Text{Text: "feed the cat"}}, "", "", "", "# HEARTBEAT.md\nfeed the cat"},
		"in its hours":           {scheduler.Gate{Active: "13:00-14:00"}, &fakeChecks{}, "", "", "", ""}, // noon in UTC is one o'clock in Berlin
		"outside of them":        {scheduler.Gate{Active: "08:00-13:00"}, &fakeChecks{}, "", scheduler.OutcomeSkipped, "gate: outside 08:00-13:00", ""},
		"one part of two": {
			scheduler.Gate{Command: "x", URL: "l"}, &fakeChecks{output: gate.Output{Hash: "c2"}, page: gate.Page{Link: "l", Hash: "h1"}}, known, scheduler.OutcomeSkipped, "gate: no change", "",
		},
		"both parts": {
			scheduler.Gate{Command: "x", Files: []string{"a"}}, &fakeChecks{output: gate.Output{Hash: "c2"}, files: "f2"}, known, "", "", "(gate: the files are new; the command's output is new)",
		},
		"no look":      {scheduler.Gate{Command: "x"}, &fakeChecks{err: errors.New("no\nshell")}, known, scheduler.OutcomeFailed, "gate: no shell", ""},
		"an address":   {scheduler.Gate{URL: "l"}, &fakeChecks{err: errors.New("it leads to https://evil.example/x")}, known, scheduler.OutcomeFailed, "gate: it leads to https[:]//evil[.]example/x", ""},
		"a long fault": {scheduler.Gate{URL: "l"}, &fakeChecks{err: errors.New(strings.Repeat("x", 1000))}, known, scheduler.OutcomeFailed, "gate: " + strings.Repeat("x", 300) + "…", ""},
		"too slow":     {scheduler.Gate{Command: "x"}, &fakeChecks{hangs: 61 * time.Second}, known, scheduler.OutcomeFailed, "gate: it took longer than 1m0s", ""},
		"slow enough":  {scheduler.Gate{Command: "x", Exit: true}, &fakeChecks{hangs: 59 * time.Second}, known, "", "", "(gate: the command ended with code 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := slot(c.gate)
			s.Seen = c.seen
			said := judged(t, c.fakeChecks, s)
			if len(said) != 1 {
				t.Fatalf("%d verdicts", len(said))
			}
			v := said[0]
			if v.Fire != 7 || v.Job != 3 || v.Outcome != c.outcome || v.Reason != c.reason {
				t.Fatalf("%+v", v)
			}
			if v.Outcome != "" {
				return
			}
			want := []string{"see to it", "(1 earlier run)"}
			if c.told != "" {
				want = append(want, c.told)
			}
			var got []string
			for _, p := range v.In.Parts {
				got = append(got, p.Text)
			}
			if !slices.Equal(got, want) || v.In.Fire != 7 || v.In.ExtID != "job:3:2026-11-21T12:00:00Z" || v.In.Kind != event.Fire {
				t.Errorf("%+v", v.In)
			}
		})
	}
}

// What is seen is stored with the verdict, and handed to the next look at the address.
func TestSeen(t *testing.T) {
	page := gate.Page{Link: "l", ETag: "e", Modified: "m", Hash: "h"}
	w := &fakeChecks{output: gate.Output{Hash: "c"}, page: page, files: "f"}
	s := slot(scheduler.Gate{Command: "x", URL: "l", Files: []string{"a"}})
	said := judged(t, w, s)
	want := `{"command":"c","page":{"link":"l","etag":"e","modified":"m","hash":"h"},"files":"f"}`
	if said[0].Seen != want {
		t.Errorf("seen is %s", said[0].Seen)
	}
	s.Seen = want
	if said := judged(t, w, s); said[0].Outcome != scheduler.OutcomeSkipped || said[0].Seen != "" {
		t.Errorf("the same again: %+v", said[0])
	}
	s.Job.Gate.Files = nil
	if judged(t, w, s); w.last != page {
		t.Errorf("it asks for the page as if it had seen %+v", w.last)
	}
	if said := judged(t, &fakeChecks{output: gate.Output{Hash: "c"}}, slot(scheduler.Gate{Command: "x", Exit: true})); said[0].Seen != "" {
		t.Errorf("an exit code is remembered: %s", said[0].Seen)
	}
}

// The cheap parts are looked at first, and none behind one that is shut.
func TestOrder(t *testing.T) {
	all := scheduler.Gate{Command: "x", URL: "l", Files: []string{"a"}, Content: "HEARTBEAT.md", Active: "00:00-24:00", Idle: true}
	w := &fakeChecks{text: gate.Text{Text: "feed"}, files: "f", page: gate.Page{Link: "l", Hash: "h"}, output: gate.Output{Hash: "c"}}
	if judged(t, w, slot(all)); strings.Join(w.asked, " ") != "busy content files page command" {
		t.Errorf("asked: %v", w.asked)
	}
	w = &fakeChecks{text: gate.Text{Text: "# nothing"}}
	if judged(t, w, slot(all)); strings.Join(w.asked, " ") != "busy content" {
		t.Errorf("asked: %v", w.asked)
	}
	all.Active = "02:00-03:00"
	w = &fakeChecks{}
	if judged(t, w, slot(all)); len(w.asked) > 0 {
		t.Errorf("asked: %v", w.asked)
	}
}

// A job that was removed or spoilt while its slot waited does not run, whatever its gate says. A pause stops only what comes due later.
func TestNobodyAsksAnyMore(t *testing.T) {
	w := &fakeChecks{output: gate.Output{Hash: "c"}}
	gone, paused, broken := slot(scheduler.Gate{Command: "x"}), slot(scheduler.Gate{Command: "x"}), slot(scheduler.Gate{Command: "x"})
	gone.Gone, paused.Job.Paused, broken.Job.Broken = true, true, "no zone"
	for _, s := range []gate.Slot{gone, broken} {
		if v := judged(t, w, s)[0]; v.Outcome != scheduler.OutcomeSkipped || v.Reason == "" {
			t.Errorf("%+v", v)
		}
	}
	if len(w.asked) > 0 {
		t.Errorf("asked: %v", w.asked)
	}
	if v := judged(t, w, paused)[0]; v.Outcome != "" {
		t.Errorf("a slot that came due before the pause: %+v", v)
	}
	if v := judged(t, w, slot(scheduler.Gate{}))[0]; v.Outcome != "" || len(v.In.Parts) != 2 {
		t.Errorf("a gate that was taken away: %+v", v)
	}
}

// A reminder is told as it is; foreign text in what a run is told taints it, and is nobody's own words.
func TestWhatARunIsTold(t *testing.T) {
	s := slot(scheduler.Gate{Command: "x", Content: "HEARTBEAT.md"})
	s.Job.Prompt, s.Note = "say: look!", ""
	w := &fakeChecks{output: gate.Output{Hash: "c"}, text: gate.Text{Text: "feed", Foreign: "written by a turn"}}
	if v := judged(t, w, s)[0]; len(v.In.Parts) != 1 || v.In.Tainted || !v.In.Typed {
		t.Errorf("%+v", v.In)
	}
	s.Job.Prompt = "look"
	if v := judged(t, w, s)[0]; len(v.In.Parts) != 3 || !v.In.Tainted || v.In.Typed {
		t.Errorf("%+v", v.In)
	}
}

// Four gates are evaluated at the same time. A slow one delays no other, and each is judged once.
func TestEvaluationsAtTheSameTime(t *testing.T) {
	w := &fakeChecks{hangs: 30 * time.Second, output: gate.Output{Hash: "c"}}
	var slots []gate.Slot
	for i := range 10 {
		s := slot(scheduler.Gate{Command: "x"})
		s.Fire = int64(i + 1)
		slots = append(slots, s)
	}
	said := judged(t, w, slots...)
	fires := map[int64]bool{}
	for _, v := range said {
		fires[v.Fire] = true
	}
	if w.most != 4 || len(said) != 10 || len(fires) != 10 {
		t.Errorf("%d at once, %d verdicts on %d slots", w.most, len(said), len(fires))
	}
}

// A look that is cut off by the end of hob says nothing: the slot stays due. A store that fails ends the run, which begins again.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slotStore{due: []gate.Slot{slot(scheduler.Gate{Command: "x"})}}
		k := gate.NewRunner(s, &fakeChecks{hangs: time.Hour}, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		time.Sleep(10 * time.Second)
		stop()
		if err := <-ended; err != nil || len(s.said) > 0 || len(s.due) != 1 {
			t.Errorf("%v, %+v", err, s.said)
		}
		s.err = errors.New("disk full")
		k = gate.NewRunner(s, &fakeChecks{}, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
		if err := k.Run(t.Context()); !errors.Is(err, s.err) {
			t.Errorf("run: %v", err)
		}
	})
}

// A ring wakes the runner at once.
func TestRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rings := &slotStore{}, make(chan struct{}, 1)
		k := gate.NewRunner(s, &fakeChecks{output: gate.Output{Hash: "c"}}, sys.RealClock(), rings, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		synctest.Wait()
		s.mu.Lock()
		s.due = []gate.Slot{slot(scheduler.Gate{Command: "x"})}
		s.mu.Unlock()
		rings <- struct{}{}
		synctest.Wait() // no time passes
		s.mu.Lock()
		n := len(s.said)
		s.mu.Unlock()
		if n != 1 {
			t.Errorf("%d verdicts", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
