package wire

import (
	"math"

	"hob/daemon/llm"
)

// bytesPerToken is the ratio for estimates, where the server reports no count.
const bytesPerToken = 4

// margin is the number of tokens that a provider may add to a request or an answer by itself.
const margin = 64 << 10

// Credible reports whether a server's count can be true. A count of zero counts as none; a token has at least one byte; and an answer ends
// near its limit. An invented count would exhaust the day's budget, or never reach it.
func Credible(input, output float64, sent, limit int) bool {
	return input+output > 0 && input <= float64(sent+margin) && output <= float64(4*limit+margin)
}

// Estimate returns a usage of four bytes per token, for servers that report none.
func Estimate(out llm.Answer, sent int) llm.Usage {
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
