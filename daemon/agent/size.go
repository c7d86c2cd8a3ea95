package agent

import (
	"cmp"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// Bytes per token, to estimate a text that no provider has counted yet. A token rarely has fewer than three bytes; in most
// texts it has four.
const (
	minBytesPerToken   = 3
	usualBytesPerToken = 4
)

// Sizes in bytes that are counted for parts other than text. An image counts as about 1,600 tokens. A file counts as the most
// that a request shows of it (llm.Info.FileText), plus the text around it.
const (
	imageBytes    = 6_000
	documentBytes = 200 << 10
	partOverhead  = 300
	voiceBytes    = 32 << 10 // the transcript of a voice note that is not transcribed yet
)

// EstimateTokens estimates the tokens of a text of n bytes that no provider has counted.
func EstimateTokens(n int) int { return (n + usualBytesPerToken - 1) / usualBytesPerToken }

// size is the length of a request.
type size struct {
	known int // tokens up to the last answer, as counted by the provider
	bytes int // everything after that answer; the whole request when nothing was counted
}

// sizeOf measures a prefix and a transcript for a model. It starts from the model's last answer with a known token count, which
// includes everything before it. Models count differently, so the count of another model is used only when there is none of this one.
func sizeOf(items []llm.Item, head prefix, info llm.Info) size {
	var s, other size
	for i := len(items) - 1; i >= 0; i-- {
		it := items[i]
		own := it.Provider == info.Provider && it.Model == info.Model
		// An answer's count covers its whole request, the prefix included, so nothing before it is counted again.
		if it.Tokens > 0 && own {
			s.known = it.Tokens
			return s
		}
		if it.Tokens > 0 && other.known == 0 {
			other = size{known: it.Tokens, bytes: s.bytes}
		}
		s.bytes += bytesOf(it, info)
	}
	if other.known > 0 {
		return other
	}
	s.bytes += head.bytes()
	return s
}

// bytes is the size of a prefix.
func (p prefix) bytes() int {
	n := len(p.system)
	for _, t := range p.tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return n
}

// with adds the parts of messages that have joined the turn.
func (s size) with(parts []event.Part, info llm.Info) size {
	s.bytes += bytesOf(llm.Item{Parts: parts}, info)
	return s
}

// bytesOf estimates the bytes of an item in a request to a model. Files count with an estimate of their size there.
func bytesOf(it llm.Item, info llm.Info) int {
	n := len(it.Args) + 32
	if it.Handle != "" {
		return n + len(it.Handle)
	}
	for _, part := range it.Parts {
		n += len(part.Text)
		switch {
		case part.Voice && part.Transcribed:
			n += partOverhead
		case part.Voice:
			n += voiceBytes + partOverhead
		case part.Kind == event.Image:
			n += imageBytes + partOverhead
		case part.Kind == event.File:
			most := info.FileText()
			if part.MIME == "application/pdf" { // it is sent whole
				most = documentBytes
			}
			n += min(cmp.Or(int(part.Size), most), most) + partOverhead
		}
	}
	return n
}

// bytesIn returns bytesOf for the requests to a model.
func bytesIn(info llm.Info) func(llm.Item) int {
	return func(it llm.Item) int { return bytesOf(it, info) }
}

// bytesOfAll estimates the bytes of items in a request to a model.
func bytesOfAll(items []llm.Item, info llm.Info) (n int) {
	for _, it := range items {
		n += bytesOf(it, info)
	}
	return n
}

// estimate is the probable number of tokens. upperBound is a number that the request hardly ever exceeds.
func (s size) estimate() int   { return s.known + s.bytes/usualBytesPerToken }
func (s size) upperBound() int { return s.known + s.bytes/minBytesPerToken }

// shortestAnswer is the shortest answer that is worth a request, in tokens.
const shortestAnswer = 1024

// fits reports whether a model can read the request and has room for an answer. A model without a known context limit fits all.
func (s size) fits(info llm.Info) bool {
	return info.Context <= 0 || s.estimate()+min(shortestAnswer, info.MaxOutput) <= info.Context
}

// maxAnswer returns the answer limit for the request, in tokens: the model's own limit, halved until request and answer fit
// into the context, but not below shortestAnswer.
func (s size) maxAnswer(info llm.Info) int {
	n := info.MaxOutput
	for info.Context > 0 && n > shortestAnswer && s.upperBound()+n > info.Context {
		n /= 2
	}
	return n
}

// tokenLimitError reports a request that does not fit into the token limit of a run. needs is in tokens.
type tokenLimitError struct {
	turn.RunLimits
	needs int
}

// Error is the reason that the owner reads. It names the setting that would allow the run.
func (e *tokenLimitError) Error() string {
	return fmt.Sprintf("it has used %d of the %d tokens that one run may use, and the next request needs about %d more (max_tokens of the job; hob cron update JOB --max-tokens N)", e.UsedTokens, e.MaxTokens, e.needs)
}

// checkTokenLimit refuses a request that, with the shortest answer, exceeds the tokens that the run has left. The built-in
// interpreter uses no tokens, so it is never refused.
func checkTokenLimit(m turn.RunLimits, s size, info llm.Info) error {
	left, limited := m.Left()
	if needs := s.estimate() + shortestAnswer; limited && !info.Interpreter && int64(needs) > left {
		return &tokenLimitError{m, needs}
	}
	return nil
}

// maxAnswerWithin is maxAnswer, also limited by the tokens that the run has left.
func (s size) maxAnswerWithin(m turn.RunLimits, info llm.Info) int {
	n := s.maxAnswer(info)
	if left, limited := m.Left(); limited && !info.Interpreter {
		n = min(n, max(int(left)-s.estimate(), shortestAnswer))
	}
	return n
}

// reserve is the highest cost of a request: all input at its highest price (nothing read from the cache), and the longest answer. A model without a
// known price reserves tokens instead of money.
func (s size) reserve(info llm.Info) turn.Amount {
	in, out := s.upperBound(), info.MaxOutput
	if !info.Price.Known() {
		return turn.Amount{Tokens: int64(in) + int64(out)}
	}
	return turn.Amount{Micros: info.Price.Most(in, out) + 1}
}
