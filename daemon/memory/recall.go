package memory

import (
	"context"
	"strconv"
	"time"

	"hob/daemon/agent/turn"
)

// Limits of what is looked for at the beginning of a turn.
const (
	recallCandidates = 8    // passages, of which the turn takes the first three that its request does not hold
	recallBytes      = 6000 // of all of them
	recallScore      = 0.6  // passages with fewer of the words of the input are no answer to it
)

// Recall finds what the owner wrote down or said himself for the words of his message, the best first. Foreign text is left out, whatever its
// score: nobody has asked for it. It waits for a moment only; an index that is missing, busy or damaged finds nothing.
func (x *Index) Recall(ctx context.Context, words string) []turn.Memory {
	found, err := x.Search(ctx, Query{Text: words, Owner: true, Quick: true, MaxPassages: recallCandidates, MaxBytes: recallBytes, MinScore: recallScore})
	if err != nil {
		return nil
	}
	var list []turn.Memory
	for _, p := range found.Passages {
		if !p.Weak && p.Foreign == "" {
			list = append(list, turn.Memory{At: p.at(), Text: p.Text})
		}
	}
	return list
}

// at names the place of a passage.
func (p Passage) at() string {
	switch p.Kind {
	case Context:
		return p.Path
	case History:
		return p.Path + ", " + p.Time.Format(time.DateOnly)
	}
	return p.Path + ":" + strconv.Itoa(p.From)
}
