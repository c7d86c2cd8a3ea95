package wire

import (
	"math"

	"hob/daemon/llm"
)

// bytesPerToken is the ratio for estimates, where the server reports no count.
const bytesPerToken = 4

// margin is the number of tokens that a provider may add to a request or an answer by itself.
const margin = 64 << 10

// Counts are the tokens of one request as the server has counted them. Cached and Written are parts of Input, Hour is one of Written, and Reasoning
// one of Output.
type Counts struct{ Input, Output, Cached, Written, Hour, Reasoning float64 }

// Usage returns the usage of an answer, with its price. Without a credible count it is an estimate, so that a limit on tokens still holds. sent is the size
// of the request in bytes. A part that is larger than the whole is an error of the server.
func (s *Server) Usage(c Counts, out llm.Answer, sent int) llm.Usage {
	if !credible(c.Input, c.Output, sent, s.Config.MaxOutput) {
		return s.Config.Price.Of(estimate(out, sent))
	}
	u := llm.Usage{Input: Tokens(c.Input), Output: Tokens(c.Output), Written: Tokens(c.Written)}
	u.Cached, u.Written1h, u.Reasoning = min(Tokens(c.Cached), u.Input), min(Tokens(c.Hour), u.Written), min(Tokens(c.Reasoning), u.Output)
	return s.Config.Price.Of(u)
}

// credible reports whether a server's count can be true. A count of zero counts as none; a token has at least one byte; and an answer ends
// near its limit. An invented count would exhaust the day's budget, or never reach it.
func credible(input, output float64, sent, limit int) bool {
	return input+output > 0 && input <= float64(sent+margin) && output <= float64(4*limit+margin)
}

// estimate returns a usage of four bytes per token, for servers that report none.
func estimate(out llm.Answer, sent int) llm.Usage {
	said := len(out.Text) + len(out.Reasoning)
	for _, c := range out.Calls {
		said += len(c.Name) + len(c.Args)
	}
	return llm.Usage{
		Input: (sent + bytesPerToken - 1) / bytesPerToken, Output: (said + bytesPerToken - 1) / bytesPerToken,
		Reasoning: len(out.Reasoning) / bytesPerToken, Estimated: true,
	}
}

// Tokens converts a reported count; an impossible one is 0.
func Tokens(n float64) int {
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return int(min(n, math.MaxInt32))
}
