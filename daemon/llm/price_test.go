package llm_test

import (
	"testing"

	"hob/daemon/llm"
)

// Each kind of input costs what its price says, and no request costs more than what was reserved for it.
func TestPriceOf(t *testing.T) {
	const m = 1_000_000
	plain := llm.Price{Input: 3 * m, Output: 15 * m}
	cached := llm.Price{Input: 3 * m, Cached: m / 2, Written: 4 * m, Written1h: 6 * m, Output: 15 * m}
	long := llm.Price{Input: 2, Cached: 1, Output: 4, LongFrom: 100, LongTimes: 5}
	for _, c := range []struct {
		name  string
		price llm.Price
		usage llm.Usage
		want  int64
	}{
		{"plain", plain, llm.Usage{Input: 1000, Output: 10}, 3150},
		{"without prices of its own the cache costs as input", plain, llm.Usage{Input: 1000, Cached: 500, Written: 300, Written1h: 100, Output: 10}, 3150},
		{"read and written", cached, llm.Usage{Input: 1000, Cached: 600, Written: 300, Output: 10}, 300 + 300 + 1200 + 150},
		{"written for an hour", cached, llm.Usage{Input: 300, Written: 300, Written1h: 100}, 800 + 600},
		{"an hour without a price of its own", llm.Price{Input: 1 * m, Written: 2 * m}, llm.Usage{Input: 10, Written: 10, Written1h: 4}, 20},
		{"short", long, llm.Usage{Input: 99, Output: 1_000_000}, 5},
		{"long", long, llm.Usage{Input: 100, Output: 1_000_000}, 21},
		{"rounded up", llm.Price{Input: 1}, llm.Usage{Input: 1}, 1},
		{"unknown", llm.Price{}, llm.Usage{Input: 1000}, 0},
		{"told by the server", plain, llm.Usage{Input: 1000, Cost: 7, Priced: true}, 7},
	} {
		got := c.price.Of(c.usage)
		if got.Cost != c.want || got.Priced != (c.price.Known() || c.usage.Priced) {
			t.Errorf("%s: %d, priced %v; want %d", c.name, got.Cost, got.Priced, c.want)
		}
		if most := c.price.Most(c.usage.Input, c.usage.Output); c.price.Known() && most < c.want {
			t.Errorf("%s: at most %d is reserved, and it costs %d", c.name, most, c.want)
		}
	}
}
