package anthropic_test

import (
	"testing"

	"hob/daemon/llm"
)

// The price of a model is the owner's, with Anthropic's proportions for what it leaves open, else that of the table.
func TestPrices(t *testing.T) {
	const m = 1_000_000
	for _, c := range []struct {
		model     string
		own, want llm.Price
	}{
		{"claude-sonnet-4-6", llm.Price{}, llm.Price{Input: 3 * m, Cached: m * 3 / 10, Written: m * 15 / 4, Written1h: 6 * m, Output: 15 * m}},
		{"claude-haiku-4-5-20251001", llm.Price{}, llm.Price{Input: m, Cached: m / 10, Written: m * 5 / 4, Written1h: 2 * m, Output: 5 * m}},
		{"claude-nobody", llm.Price{}, llm.Price{}},
		{"claude-nobody", llm.Price{Input: 4 * m, Output: m}, llm.Price{Input: 4 * m, Cached: m * 4 / 10, Written: 5 * m, Written1h: 8 * m, Output: m}},
		{"claude-sonnet-4-6", llm.Price{Input: m, Cached: 7, Written: 9, Output: 1}, llm.Price{Input: m, Cached: 7, Written: 9, Output: 1}},
	} {
		conf := config(canned{})
		conf.Model, conf.Price = c.model, c.own
		if got := open(t, conf).Info().Price; got != c.want {
			t.Errorf("%s with %+v: %+v, want %+v", c.model, c.own, got, c.want)
		}
	}
}
