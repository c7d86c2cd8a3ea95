//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// What the model of TestSpendingUnderKills costs, in millionths of the currency for a million tokens, and what a day may cost: about thirty
// requests. Each answer is almost as long as it may be: then little more is reserved than is billed, and what is not booked shows.
const (
	inputPrice  = 3_000_000
	outputPrice = 15_000_000
	dayCap      = 2_000_000
	aRequest    = 80_000 // what is reserved for one, at most
)

// TestSpendingUnderKills is I7 with money: the release build is killed about each second, while turns, sub-agents
// beside them, and tools for which a model works on a text, ask a model that has its price, and while answers break off. At every moment what the server bills is within what hob has
// booked, and that is within the cap, which is reached. HOB_SPEND is how many
// seconds it lasts, more on a machine that takes longer to reach the cap.
func TestSpendingUnderKills(t *testing.T) {
	t.Parallel()
	r := newHarness(t, options{bin: binary(t, release), seed: *seed})
	r.price(t)
	rng := rand.New(rand.NewPCG(*seed, 3))
	end, limit := time.Now().Add(time.Duration(number("HOB_SPEND", 20))*time.Second), time.Now().Add(settleTime)
	for k, full := 0, false; (time.Now().Before(end) || !full && time.Now().Before(limit)) && !t.Failed(); k++ {
		for i := range 1 + rng.IntN(4) {
			id := fmt.Sprintf("%d", 10*k+i)
			kind := []string{"plain", "long", "chain", "exec", "spawn", "spawn", "aside", "aside"}[rng.IntN(8)]
			r.say("post-"+id, []string{"", "s1", "s2"}[rng.IntN(3)], "please do "+kind+"-"+id)
		}
		full = r.live(rng) > dayCap-aRequest
	}
	r.up()
	if err := r.settle(); err != nil {
		t.Fatalf("after %d kills: %v", r.crashes, err)
	}
	s := r.budgetRow()
	if s.ReservedMicros != 0 {
		t.Errorf("%d are still reserved when nothing runs", s.ReservedMicros)
	}
	r.stop()
	b := r.readRecords()
	orphans, refused := b.number("SELECT count(*) FROM steps WHERE kind = 'model' AND state = 'unknown'"), b.number("SELECT count(*) FROM turns WHERE text LIKE '%budget%' OR why LIKE '%budget%'")
	t.Logf("%d kills, %d requests, %d broken off: %d billed, %d booked of %d; %d requests were orphaned, %d turns refused, %d sub-agents, %d texts for tools",
		r.crashes, len(r.world.model.Requests()), r.world.broken, r.billed(), s.Used.Micros(), dayCap, orphans, refused, b.number("SELECT count(*) FROM turns WHERE parent IS NOT NULL"), r.world.texts)
	if orphans == 0 || refused == 0 {
		t.Errorf("%d requests were under way at a kill and %d turns refused: neither the kills nor the cap were put to the test", orphans, refused)
	}
	for _, broken := range b.none("a turn or a conversation has a cost below zero", "SELECT day, scope, used_micros FROM spend WHERE used_micros < 0 OR reserved_micros < 0") {
		t.Error(broken)
	}
}

// price gives the model its price, the day its cap, and the owner a zone in which it is noon: the cap must not begin anew in between.
func (r *harness) price(t *testing.T) {
	t.Helper()
	path := filepath.Join(r.home, "config.toml")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zone := "Etc/GMT"
	if late := time.Now().UTC().Hour() - 12; late != 0 {
		zone = fmt.Sprintf("Etc/GMT%+d", late) // whose sign is the other way round
	}
	text := strings.NewReplacer(
		`timezone = "UTC"`, fmt.Sprintf("timezone = %q", zone),
		"tokens_per_day = 2000000000", fmt.Sprintf("per_day = %g\ntokens_per_day = 0", dayCap/1e6),
		"max_output_tokens", fmt.Sprintf("price = { input = %g, output = %g }\nmax_output_tokens", inputPrice/1e6, outputPrice/1e6),
	).Replace(string(doc))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.world.model.Otherwise(r.world.costly)
}

// costly is the model as always, but that every eighth answer breaks off; it is billed all the same.
func (w *outside) costly(q llmtest.Request) llmtest.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	answer := w.reply(wanted(q), w.answers)
	answer.Usage = llm.Usage{Input: len(q.Body)/4 + 1, Output: 3_900}
	if len(q.Tools) == 0 { // who works on a text for a tool may say less
		answer.Usage.Output = 2_000
		w.texts++
	}
	turn := llmtest.Streamed(answer)
	turn.Hold = after(time.Duration(w.rng.IntN(120)) * time.Millisecond)
	if w.rng.IntN(8) == 0 {
		w.broken++
		turn.Break, turn.At = llmtest.Reset, w.rng.IntN(400)
	}
	return turn
}

// live runs the daemon for about a second and reads the budget now and then. It returns the last booked amount.
func (r *harness) live(rng *rand.Rand) (booked int64) {
	r.up()
	gone, ctx := r.proc.gone, context.Background()
	own, stop := context.WithCancel(ctx)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		r.feed(own, gone)
	}()
	for range 3 {
		s := r.budgetRow()
		booked = s.Used.Micros() + s.ReservedMicros
		happens(gone, time.Duration(100+rng.IntN(400))*time.Millisecond)
	}
	if ended(r.proc) {
		r.t.Fatalf("hob ended by itself: %v\n%s", r.proc.err, r.proc.said)
	}
	stop()
	<-fed
	r.kill()
	return booked
}

// billed is what the model's server asks for, in millionths.
func (r *harness) billed() int64 {
	return llm.Price{Input: inputPrice, Output: outputPrice}.Of(r.world.model.Billed()).Cost
}

// budgetRow reads the budget as hob shows it. All calls billed before are booked, and the booked amount is within the cap.
func (r *harness) budgetRow() api.Budget {
	r.t.Helper()
	billed := r.billed()
	c, err := r.dial(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := client.Show(context.Background(), c, api.ShowBudget, "")
	if err != nil {
		r.t.Fatal(err)
	}
	booked := s.Used.Micros() + s.ReservedMicros
	if booked < billed {
		r.t.Errorf("after %d kills %d are billed, and only %d booked", r.crashes, billed, booked)
	}
	if max(booked, r.billed()) > dayCap {
		r.t.Errorf("after %d kills %d are booked and %d billed of %d", r.crashes, booked, r.billed(), dayCap)
	}
	return s
}
