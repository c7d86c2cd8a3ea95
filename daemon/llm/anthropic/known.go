package anthropic

import (
	"cmp"
	"strings"

	"hob/daemon/llm"
)

// thinks says how thinking is requested from a model.
type thinks int

const (
	adaptive thinks = iota // by an effort; may be turned off
	between                // as adaptive, but only the thinking before the first call can be turned off
	always                 // as adaptive, and never off
	manual                 // by a number of tokens; off without one
)

// facts are the properties of a model that the server's list does not report.
type facts struct {
	price  llm.Price
	window int // tokens
	output int // tokens
	thinks thinks
	high   bool // xhigh is not among its levels; high is the highest
}

// factsOf returns the facts of a model by its id, with or without a date. A model that is not known has no price, and thinks as new ones do.
func factsOf(id string) facts {
	id = strings.TrimSuffix(id, "-latest")
	if f, ok := table()[id]; ok {
		return f
	}
	if at := strings.LastIndexByte(id, '-'); at > 0 && len(id)-at == len("-20251001") {
		return table()[id[:at]]
	}
	return facts{}
}

// table lists the models with their prices (https://platform.claude.com/docs/en/about-claude/pricing), windows and ways to think
// (https://platform.claude.com/docs/en/models), as of November 2026.
func table() map[string]facts {
	const large, largeOut = 1_000_000, 128_000
	haiku := facts{dollars(0.1, 0.01, 0.5), large, largeOut, adaptive, false}
	haiku.price.LongFrom, haiku.price.LongTimes = 100_001, 5
	return map[string]facts{
		"claude-fable-5-2":  {dollars(8, 0.2, 40), large, largeOut, always, false},
		"claude-fable-5-1":  {dollars(10, 0.25, 50), large, largeOut, always, false},
		"claude-mythos-5-1": {dollars(10, 0.25, 50), large, largeOut, always, false},
		"claude-fable-5":    {dollars(10, 1, 50), large, largeOut, always, false},
		"claude-mythos-5":   {dollars(10, 1, 50), large, largeOut, always, false},
		"claude-opus-5-5":   {dollars(4, 0.2, 20), large, largeOut, always, false},
		"claude-sonnet-5-5": {dollars(2, 0.1, 10), large, largeOut, between, false},
		"claude-haiku-5-5":  haiku,
		"claude-opus-5":     {dollars(5, 0.5, 25), large, largeOut, adaptive, false},
		"claude-sonnet-5":   {dollars(2, 0.2, 10), large, largeOut, adaptive, false},
		"claude-opus-4-8":   {dollars(5, 0.5, 25), large, largeOut, adaptive, false},
		"claude-opus-4-7":   {dollars(5, 0.5, 25), large, largeOut, adaptive, false},
		"claude-opus-4-6":   {dollars(5, 0.5, 25), large, largeOut, adaptive, true},
		"claude-sonnet-4-6": {dollars(3, 0.3, 15), large, 64_000, adaptive, true},
		"claude-opus-4-5":   {dollars(5, 0.5, 25), 200_000, 64_000, manual, true},
		"claude-sonnet-4-5": {dollars(3, 0.3, 15), 200_000, 64_000, manual, true},
		"claude-haiku-4-5":  {dollars(1, 0.1, 5), 200_000, 64_000, manual, true},
	}
}

// dollars returns a price from dollars per million tokens. For every model, writing to the cache costs a quarter more than input, and for
// an hour twice as much.
func dollars(input, cached, output float64) llm.Price {
	micros := func(d float64) int64 { return int64(d*1e6 + 0.5) }
	p := llm.Price{Input: micros(input), Cached: micros(cached), Output: micros(output)}
	p.Written, p.Written1h = p.Input*5/4, p.Input*2
	return p
}

// priced returns the price that is used: the owner's, if there is one. Prices that the owner leaves out are computed from the owner's input
// price in the usual proportion.
func (f facts) priced(own llm.Price) llm.Price {
	if !own.Known() {
		return f.price
	}
	if own.Cached == 0 {
		own.Cached = own.Input / 10
	}
	if own.Written == 0 {
		own.Written, own.Written1h = own.Input*5/4, own.Input*2
	}
	return own
}

// known adds the facts of a model to a row of the list.
func known(e llm.Entry) llm.Entry {
	f := factsOf(e.ID)
	e.Price, e.Context, e.MaxOutput = f.price, cmp.Or(e.Context, f.window), cmp.Or(e.MaxOutput, f.output)
	return e
}
