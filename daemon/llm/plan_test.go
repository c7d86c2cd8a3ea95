package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/llm"
)

// named is a model that is only a name.
type named llm.Info

func (n named) Info() llm.Info { return llm.Info(n) }

func (named) Answer(context.Context, llm.Request, func(llm.Delta)) (llm.Answer, error) {
	return llm.Answer{}, errors.New("not asked here")
}

func info(server, model string) llm.Info {
	return llm.Info{Provider: "p", Server: server, Model: model, Context: 1000}
}

var all = func(llm.Info) bool { return true }

func instant() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) }

// course plays a plan in which every model fails with the faults that are given for it, one after the other, and answers when
// there are none left. It returns who was asked, with the waits in between.
func course(c *llm.Chain, at time.Time, faults map[string][]error) string {
	p := c.Plan(at, all)
	var said []string
	for {
		m := p.Model().Info().Model
		if len(faults[m]) == 0 {
			p.Worked()
			return strings.Join(append(said, m+"!"), " ")
		}
		err := faults[m][0]
		faults[m] = faults[m][1:]
		wait, next := p.Failed(err, at, 1, time.Hour)
		said = append(said, m)
		if (next == llm.Another) != (next != llm.GiveUp && p.Model().Info().Model != m) {
			return "it says the wrong thing about what comes"
		}
		if next == llm.GiveUp {
			return strings.Join(append(said, "-"), " ")
		}
		if wait > 0 {
			said = append(said, wait.String())
		}
	}
}

func times(n int, err error) []error { return slices.Repeat([]error{err}, n) }

func fault(f llm.Fault) error { return &llm.Error{Fault: f} }

func TestCourse(t *testing.T) {
	asked := func(d time.Duration) error { return &llm.Error{Fault: llm.RateLimit, RetryAfter: d} }
	for _, tc := range []struct {
		name   string
		models string
		faults map[string][]error
		want   string
	}{
		{"it answers", "a b", nil, "a!"},
		{"alone, it is asked nine times", "a", map[string][]error{"a": times(10, fault(llm.Overloaded))}, "a 1s a 2s a 4s a 8s a 16s a 32s a 32s a 32s a -"},
		{"alone, and back at the last try", "a", map[string][]error{"a": times(8, fault(llm.Network))}, "a 1s a 2s a 4s a 8s a 16s a 32s a 32s a 32s a!"},
		{"another is ready: three tries", "a b", map[string][]error{"a": times(9, fault(llm.RateLimit))}, "a 1s a 2s a b!"},
		{
			"the last one is asked as if it were alone", "a b",
			map[string][]error{"a": times(9, fault(llm.Malformed)), "b": times(9, fault(llm.Broken))},
			"a 1s a 2s a b 1s b 2s b 4s b 8s b 16s b 32s b 32s b 32s b -",
		},
		{"what the server asks for wins", "a", map[string][]error{"a": {asked(90 * time.Second), asked(2 * time.Second)}}, "a 1m30s a 2s a!"},
		{"unless it is long and another is ready", "a b", map[string][]error{"a": {asked(6 * time.Second)}}, "a b!"},
		{"short ones are waited for", "a b", map[string][]error{"a": {asked(5 * time.Second)}}, "a 5s a!"},
		{"longer than the caller can wait", "a", map[string][]error{"a": {asked(2 * time.Hour)}}, "a -"},
		{"not worth another try", "a b c", map[string][]error{"a": {fault(llm.BadRequest)}, "b": {fault(llm.Auth)}}, "a b c!"},
		{"nobody is left", "a b", map[string][]error{"a": {fault(llm.Payment)}, "b": {fault(llm.NotFound)}}, "a b -"},
		{"too large goes on to the next", "a b", map[string][]error{"a": {fault(llm.TooLarge)}}, "a b!"},
		{"endless goes on to the next", "a b", map[string][]error{"a": {fault(llm.Endless)}}, "a b!"},
		{"empty answers", "a", map[string][]error{"a": times(9, fault(llm.Empty))}, "a 1s a 2s a -"},
		{"images are left out at once, once", "a", map[string][]error{"a": times(9, fault(llm.NoImages))}, "a a -"},
		{"silences", "a", map[string][]error{"a": times(9, fault(llm.Idle))}, "a 1s a 2s a -"},
		{"images are left out after other faults too", "a b", map[string][]error{"a": {fault(llm.Overloaded), fault(llm.Overloaded), fault(llm.NoImages)}}, "a 1s a 2s a a!"},
		{"an empty answer after other faults", "a", map[string][]error{"a": append(times(3, fault(llm.Overloaded)), fault(llm.Empty))}, "a 1s a 2s a 4s a 8s a!"},
		{"what nobody knows ends it", "a b", map[string][]error{"a": {errors.New("odd")}}, "a -"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var models []llm.Model
			for _, name := range strings.Fields(tc.models) {
				models = append(models, named(info("server of "+name, name)))
			}
			if got := course(llm.NewChain(models[0], models[1:]...), instant(), tc.faults); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestJitterSpreadsTheUpperHalf(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 500 * time.Millisecond, 0.5: 750 * time.Millisecond} {
		p := llm.NewChain(named(info("s", "a"))).Plan(instant(), all)
		if wait, next := p.Failed(fault(llm.Overloaded), instant(), jitter, time.Hour); wait != want || next != llm.Again {
			t.Errorf("jitter %v: wait %v, next %v; want %v", jitter, wait, next, want)
		}
	}
}

// Which models rest after which faults, and how long: a and b share a server, c has one of its own.
func TestRests(t *testing.T) {
	for _, tc := range []struct {
		fault llm.Fault
		rests string // who rests after a has failed with it
		first time.Duration
	}{
		{llm.RateLimit, "a", 30 * time.Second},
		{llm.Overloaded, "a", 30 * time.Second},
		{llm.Idle, "a", 30 * time.Second},
		{llm.Broken, "a", 30 * time.Second},
		{llm.Malformed, "a", 30 * time.Second},
		{llm.Empty, "a", 30 * time.Second},
		{llm.NotFound, "a", 10 * time.Minute},
		{llm.Forbidden, "a", time.Minute},
		{llm.Network, "a b", 15 * time.Second},
		{llm.Auth, "a b", 10 * time.Minute},
		{llm.Untrusted, "a b", 10 * time.Minute},
		{llm.Payment, "a b", 10 * time.Minute},
		{llm.BadRequest, "", 0},
		{llm.TooLarge, "", 0},
		{llm.Endless, "", 0},
		{llm.NoImages, "", 0},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			a, b, c := named(info("s", "a")), named(info("s", "b")), named(info("other", "c"))
			chain := llm.NewChain(a, b, c)
			course(chain, instant(), map[string][]error{"a": times(9, fault(tc.fault))})
			var rests []string
			for _, m := range chain.Models() {
				if r, ok := chain.Resting(m, instant()); ok {
					rests = append(rests, m.Info().Model)
					if r.Until != instant().Add(tc.first) || r.Fault != tc.fault || r.Times != 1 {
						t.Errorf("%s rests with %+v", m.Info().Model, r)
					}
				}
				if _, ok := chain.Resting(m, instant().Add(tc.first)); ok {
					t.Errorf("%s rests longer than %v", m.Info().Model, tc.first)
				}
			}
			if tc.rests == "a b" { // b answered in a's place: its server is well
				tc.rests = ""
			}
			if got := strings.Join(rests, " "); got != tc.rests {
				t.Errorf("%q rest, want %q", got, tc.rests)
			}
		})
	}
}

// The key of one server is refused: its other models are passed over, those of other servers are not.
func TestAServersFaultHoldsForItsOtherModels(t *testing.T) {
	chain := llm.NewChain(named(info("s", "a")), named(info("other", "c")), named(info("s", "b")))
	if got := course(chain, instant(), map[string][]error{"a": {fault(llm.Auth)}}); got != "a c!" {
		t.Fatalf("first: %s", got)
	}
	if got := course(chain, instant(), map[string][]error{"c": times(9, fault(llm.BadRequest))}); got != "c a!" {
		t.Errorf("then: %s; want those that rest last, in their order", got)
	}
}

// One that rests is asked last, and first again when its time is over; each failure in a row doubles the time.
func TestBackToTheFirst(t *testing.T) {
	chain := llm.NewChain(named(info("s", "a")), named(info("t", "b")))
	now := instant()
	for i, rest := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if got := course(chain, now, map[string][]error{"a": times(3, fault(llm.Overloaded))}); got != "a 1s a 2s a b!" {
			t.Fatalf("round %d: %s", i, got)
		}
		if got := course(chain, now.Add(rest-time.Second), nil); got != "b!" {
			t.Errorf("round %d: while a rests: %s", i, got)
		}
		now = now.Add(rest)
	}
	if got := course(chain, now, nil); got != "a!" {
		t.Fatalf("back: %s", got)
	}
	if r, ok := chain.Resting(chain.First(), now); ok {
		t.Errorf("a has answered and still rests: %+v", r)
	}
	course(chain, now, map[string][]error{"a": times(3, fault(llm.Overloaded))})
	if r, _ := chain.Resting(chain.First(), now); r.Until != now.Add(30*time.Second) {
		t.Errorf("after an answer it begins anew: %+v", r)
	}
}

// A server that asked for an hour is left alone for an hour.
func TestRestAsLongAsTheServerAskedFor(t *testing.T) {
	chain := llm.NewChain(named(info("s", "a")), named(info("t", "b")))
	course(chain, instant(), map[string][]error{"a": {&llm.Error{Fault: llm.RateLimit, RetryAfter: time.Hour, Text: "slow down"}}})
	r, ok := chain.Resting(chain.First(), instant())
	if !ok || r.Until != instant().Add(time.Hour) || r.Text != "the model's server limits requests: slow down (it asks to wait 1h)" {
		t.Errorf("it rests: %v, %+v", ok, r)
	}
}

func TestModelsThatAreTooSmallAreLeftOut(t *testing.T) {
	small, large := info("s", "small"), info("s", "large")
	large.Context = 10_000
	fits := func(need int) func(llm.Info) bool { return func(i llm.Info) bool { return i.Context >= need } }
	for need, want := range map[int]string{500: "small", 5_000: "large", 50_000: "small"} { // when none fits, the first one says so
		p := llm.NewChain(named(small), named(large)).Plan(instant(), fits(need))
		if got := p.Model().Info().Model; got != want {
			t.Errorf("%d tokens go to %s, want %s", need, got, want)
		}
	}
}

func TestSkip(t *testing.T) {
	p := llm.NewChain(named(info("s", "dear")), named(info("s", "cheap"))).Plan(instant(), all)
	if !p.Skip() || p.Model().Info().Model != "cheap" || p.Skip() {
		t.Errorf("it stands at %+v", p.Model().Info())
	}
}

func TestWake(t *testing.T) {
	chain := llm.NewChain(named(info("s", "a")), named(info("t", "b")))
	course(chain, instant(), map[string][]error{"a": {fault(llm.Auth)}, "b": {fault(llm.Payment)}})
	chain.Wake(func(i llm.Info) bool { return i.Model == "a" })
	if _, rests := chain.Resting(chain.First(), instant()); rests {
		t.Error("a was woken and rests")
	}
	if _, rests := chain.Resting(chain.Models()[1], instant()); !rests {
		t.Error("b was not woken and does not rest")
	}
}

// A model is not tried, then it answers or fails. A failure counts from the first try on, before the model rests.
func TestLast(t *testing.T) {
	chain := llm.NewChain(named(info("s", "a")))
	want := func(fault string, tried bool) {
		t.Helper()
		if f, ok := chain.Last(chain.First()); f != fault || ok != tried {
			t.Errorf("got %q, %v, want %q, %v", f, ok, fault, tried)
		}
	}
	want("", false)
	p := chain.Plan(instant(), all)
	p.Failed(fault(llm.NoImages), instant(), 1, time.Hour)
	p.Failed(fault(llm.TooLarge), instant(), 1, time.Hour)
	want("", false)
	p.Failed(fault(llm.Network), instant(), 1, time.Hour)
	want("the model's server cannot be reached", true)
	chain.Wake(all)
	want("the model's server cannot be reached", true)
	p.Worked()
	want("", true)
	chain.Tried(all, "it is broken")
	want("it is broken", true)
	course(chain, instant(), map[string][]error{"a": {fault(llm.Auth)}})
	chain.Tried(all, "")
	want("", true)
	if _, rests := chain.Resting(chain.First(), instant()); rests {
		t.Error("it has answered and rests")
	}
}

func TestErrorsSayWhatTheyMean(t *testing.T) {
	err := fmt.Errorf("turn 1: %w", &llm.Error{Fault: llm.Auth, Status: 401, Text: "no such key", Err: errors.New("cause")})
	if want := "turn 1: the model's server refused the key (HTTP 401): no such key: cause"; err.Error() != want {
		t.Errorf("got %s", err)
	}
	if llm.FaultOf(err) != llm.Auth || llm.Retryable(err) || llm.Billable(err) {
		t.Errorf("its kind is %s", llm.FaultOf(err))
	}
	if other := errors.New("odd"); llm.FaultOf(other) != "" || llm.Retryable(other) || !llm.Billable(other) {
		t.Error("an error that nobody knows may have been billed, and is not tried again")
	}
}
