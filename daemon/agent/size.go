package agent

import (
	"cmp"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// What is counted for a text whose tokens no provider has counted yet: a token is rarely less than three bytes, and four in
// most texts.
const (
	minBytesPerToken   = 3
	usualBytesPerToken = 4
)

// What is counted for a part that is no text, in bytes: about 1,600 tokens of an image; of a file what is shown of it at most, and what
// stands around it.
const (
	imageBytes   = 6_000
	fileBytes    = 200 << 10
	partOverhead = 300
	voiceBytes   = 32 << 10 // of what is said in a note that nobody has listened to yet
)

// size is how long a request is.
type size struct {
	known int // tokens, as the provider has counted them up to its last answer
	bytes int // of what has come since; of everything where nothing was counted
}

// sizeOf measures a transcript behind its prefix, from the last answer whose usage is known.
func sizeOf(items []llm.Item, head prefix) size {
	var s size
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Tokens > 0 {
			s.known = items[i].Tokens
			return s
		}
		s.bytes += bytesOf(items[i])
	}
	s.bytes += len(head.system)
	for _, t := range head.tools {
		s.bytes += len(t.Description) + len(t.Parameters)
	}
	return s
}

// with adds what has joined.
func (s size) with(parts []event.Part) size {
	s.bytes += bytesOf(llm.Item{Parts: parts})
	return s
}

func bytesOf(it llm.Item) int {
	n := len(it.Args) + 32
	for _, part := range it.Parts {
		n += len(part.Text)
		switch {
		case part.Voice && part.Heard:
			n += partOverhead
		case part.Voice:
			n += voiceBytes + partOverhead
		case part.Kind == event.Image:
			n += imageBytes + partOverhead
		case part.Kind == event.File:
			n += min(cmp.Or(int(part.Size), fileBytes), fileBytes) + partOverhead
		}
	}
	return n
}

// likely is the number of tokens that it probably has; most is the number that it hardly exceeds.
func (s size) estimate() int   { return s.known + s.bytes/usualBytesPerToken }
func (s size) upperBound() int { return s.known + s.bytes/minBytesPerToken }

// least is the shortest answer that is worth asking for, in tokens.
const shortestAnswer = 1024

// fits reports whether a model can read the request and still answer. A model that does not say how much it reads, reads all.
func (s size) fits(info llm.Info) bool {
	return info.Context <= 0 || s.estimate()+min(shortestAnswer, info.MaxOutput) <= info.Context
}

// room is the longest answer that fits behind the request: the model's limit, halved until it does.
func (s size) maxAnswer(info llm.Info) int {
	n := info.MaxOutput
	for info.Context > 0 && n > shortestAnswer && s.upperBound()+n > info.Context {
		n /= 2
	}
	return n
}

// spentError is a request that the limit of a run has no room for.
type tokenLimitError struct {
	turn.Mandate
	needs int
}

func (e *tokenLimitError) Error() string {
	return fmt.Sprintf("it has used %d of the %d tokens that one run may use, and the next request needs about %d more (max_tokens of the job; hob cron update JOB --max-tokens N)", e.Used, e.Most, e.needs)
}

// within refuses a request that does not fit into what a run may still use, with the shortest answer. The interpreter uses no tokens.
func checkTokenLimit(m turn.Mandate, s size, info llm.Info) error {
	left, limited := m.Left()
	if needs := s.estimate() + shortestAnswer; limited && !info.Bare && int64(needs) > left {
		return &tokenLimitError{m, needs}
	}
	return nil
}

// roomIn is the longest answer that fits behind the request, and into what a run may still use.
func (s size) maxAnswerWithin(m turn.Mandate, info llm.Info) int {
	n := s.maxAnswer(info)
	if left, limited := m.Left(); limited && !info.Bare {
		n = min(n, max(int(left)-s.estimate(), shortestAnswer))
	}
	return n
}

// reserve is what a request may cost at most: everything in it as fresh input, and the longest answer.
func (s size) reserve(info llm.Info) turn.Amount {
	in, out := int64(s.upperBound()), int64(info.MaxOutput)
	if !info.Price.Known() {
		return turn.Amount{Tokens: in + out}
	}
	return turn.Amount{Micros: (in*info.Price.Input+out*info.Price.Output)/1_000_000 + 1}
}
