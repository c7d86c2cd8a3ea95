package turn

import (
	"fmt"
	"slices"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Compaction shortens what the requests of a session contain. It deletes no item: search and the session's history keep all.
type Compaction struct {
	Handles   map[int64]string // by the seq of a result: the text that requests show in its place
	Cut       int64            // requests leave out the session's items before this seq; 0 leaves the present cut
	Covered   int              // number of items before Cut
	Summaries []llm.Item       // stand in the place of the items that are left out
	How       CompactedBy
	Bytes     int // size of the items in the last request before, to estimate the next one
	Tokens    int // the tokens that the provider counted for these bytes; 0 when it counted none
}

// Compacted is the record of a session's last compaction.
type Compacted struct {
	Asked         bool   // the owner has asked for the next one
	Matters       string // what it must keep, in the owner's words
	Bytes, Tokens int    // of the last request before it; zeros when they are not known
}

// CompactedBy says how a compaction was made.
type CompactedBy string

// The ways to make a compaction.
const (
	ByTrim  CompactedBy = "trim"  // old results became handles
	ByModel CompactedBy = "model" // a model summarised the part before the cut
	ByRows  CompactedBy = "rows"  // hob made the summary from rows, because no model could
)

// A trim keeps the results since the owner's last inputs, and those of the last answers of the running turn.
const (
	inputsKept  = 3
	answersKept = 2
)

// shortResult is the size up to which a result stays: a handle would not be much shorter. In bytes.
const shortResult = 400

// Trimmable returns the results that a trim replaces by handles, oldest first. These are the results before the owner's last three inputs,
// then those of the running turn before its last two answers. Short results and handles are left out.
func Trimmable(items []llm.Item, running int64, bytes func(llm.Item) int) []llm.Item {
	old, own := lastInputs(items), lastAnswers(items, running)
	var list []llm.Item
	for i, it := range items {
		stale := i < old || it.Turn == running && i < own
		if stale && it.Kind == llm.ResultItem && it.Handle == "" && bytes(it) > shortResult {
			list = append(list, it)
		}
	}
	return list
}

// lastInputs returns the index of the third last input of the owner. In a conversation without the owner, all inputs count.
// It returns 0 when there are fewer.
func lastInputs(items []llm.Item) int {
	owners := slices.ContainsFunc(items, func(it llm.Item) bool { return it.Kind == llm.Input && it.Trust == event.Owner })
	n := 0
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind != llm.Input || owners && items[i].Trust != event.Owner {
			continue
		}
		if n++; n == inputsKept {
			return i
		}
	}
	return 0
}

// lastAnswers returns the index at which the second last answer of a turn begins, 0 when it has fewer.
func lastAnswers(items []llm.Item, id int64) int {
	n, step, at := 0, 0, 0
	for i := len(items) - 1; i >= 0; i-- {
		it := items[i]
		if it.Turn != id || it.Role != llm.Assistant {
			continue
		}
		if it.Step != step {
			if n++; n > answersKept {
				return at
			}
			step = it.Step
		}
		at = i
	}
	if n < answersKept {
		return 0
	}
	return at
}

// Cut returns the index of the first item that stays whole when everything before it is summarised, and false when there is no
// such place. At most keep bytes stay, if a place allows it; otherwise as few as possible.
//
// A place is an input, or the beginning of an answer before which all calls have their results. No item of a waiting turn comes
// before the cut, because the turn needs its call when it resumes. Earlier summaries are always covered anew, and a cut must
// cover more than them.
func Cut(items []llm.Item, waiting func(turn int64) bool, bytes func(llm.Item) int, keep int) (int, bool) {
	places := cutPlaces(items, waiting)
	rest := 0
	best, found := 0, false
	for i := len(items) - 1; i >= 0; i-- {
		rest += bytes(items[i])
		if !places[i] {
			continue
		}
		if found && rest > keep {
			break
		}
		best, found = i, true
	}
	return best, found
}

// Coverable reports whether the next compaction of a session has something to cover: an item that is no summary, before the first
// of a turn that waits.
func Coverable(items []llm.Item, waiting func(turn int64) bool) bool {
	i := slices.IndexFunc(items, func(it llm.Item) bool { return it.Kind != llm.Summary })
	return i >= 0 && !waiting(items[i].Turn)
}

// cutPlaces reports for each index whether a cut may come before the item.
func cutPlaces(items []llm.Item, waiting func(turn int64) bool) []bool {
	places := make([]bool, len(items))
	answered := map[string]int{}
	for i, it := range items {
		if it.Kind == llm.ResultItem {
			answered[it.CallID] = i
		}
	}
	open := 0 // the highest index of a result whose call came already
	covers := false
	for i, it := range items {
		begins := it.Kind == llm.Input || it.Role == llm.Assistant && (i == 0 || !sameAnswer(items[i-1], it) || items[i-1].Role != llm.Assistant)
		places[i] = begins && covers && open < i
		if waiting(it.Turn) && it.Kind != llm.Summary {
			break
		}
		covers = covers || it.Kind != llm.Summary
		if it.Kind == llm.CallItem {
			open = max(open, answered[it.CallID])
		}
	}
	return places
}

// Shrunk returns items of at most limit bytes, for one request to a model with a small window. Nothing is committed. Old results become
// handles without an artifact. If that is not enough, the items before a cut become a digest. The result exceeds limit if the newest items
// alone do.
func Shrunk(items []llm.Item, running int64, bytes func(llm.Item) int, limit int, changes func(tool string) bool) []llm.Item {
	items = slices.Clone(items)
	short := map[int64]bool{}
	for _, it := range Trimmable(items, running, bytes) {
		short[it.Seq] = true
	}
	size := 0
	for i, it := range items {
		if short[it.Seq] {
			items[i].Handle = fmt.Sprintf("[result of %s, %d KB, left out]", it.Tool, (bytes(it)+1023)/1024)
		}
		items[i].Tokens = 0
		size += bytes(items[i])
	}
	if size <= limit {
		return items
	}
	cut, ok := Cut(items, func(int64) bool { return false }, bytes, limit/2)
	if !ok {
		return items
	}
	var list []llm.Item
	for _, class := range []Class{Own, Foreign} {
		if covered := class.Of(items[:cut]); len(covered) > 0 {
			list = append(list, class.SummaryItem(Turn{ID: running, Session: items[0].Session}, Digest(covered, changes, limit/8)))
		}
	}
	return append(list, items[cut:]...)
}
