package daemon

import (
	"context"
	"strconv"

	"hob/config"
	"hob/daemon/agent/turn"
	"hob/daemon/memory"
)

// Limits of what is looked for at the beginning of a turn.
const (
	recallCandidates = 8    // passages, of which the turn takes the first three that its request does not hold
	recallBytes      = 6000 // of all of them
	recallScore      = 0.6  // passages with fewer of the words of the input are no answer to it
)

// recall finds what the owner wrote down or said himself for the words of an input. Foreign text is left out, whatever its score: it would
// come into a turn that nobody asked for it. An index that is missing, busy or damaged finds nothing, and the turn goes on without.
type recall struct {
	index  *memory.Index
	config func() *config.Snapshot
}

// search implements agent.Recall.
func (r recall) search(ctx context.Context, words string) []turn.Memory {
	if !r.config().Memory.Recall {
		return nil
	}
	found, err := r.index.Search(ctx, memory.Query{Text: words, Owner: true, Quick: true, MaxPassages: recallCandidates, MaxBytes: recallBytes, MinScore: recallScore})
	if err != nil {
		return nil
	}
	var list []turn.Memory
	for _, p := range found.Passages {
		if !p.Weak && p.Foreign == "" && p.Kind != memory.History {
			list = append(list, turn.Memory{At: placeOf(p), Text: p.Text})
		}
	}
	return list
}

// placeOf names the place of a passage.
func placeOf(p memory.Passage) string {
	if p.Kind == memory.Context {
		return p.Path
	}
	return p.Path + ":" + strconv.Itoa(p.From)
}
