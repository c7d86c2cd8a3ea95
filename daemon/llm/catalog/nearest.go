package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/llm"
	"hob/daemon/text"
)

// maxNear limits the suggestions for a wrong id.
const maxNear = 3

// Nearest returns up to three ids that a wrong id may mean, most likely first. It finds ids in another case, without the provider prefix
// ("openai/"), with another tag or none (":latest"), or with a few different letters.
func Nearest(id string, entries []llm.Entry) []string {
	type near struct {
		id   string
		rank int
	}
	var all []near
	for _, e := range entries {
		if rank, ok := similarity(id, e.ID); ok {
			all = append(all, near{e.ID, rank})
		}
	}
	slices.SortFunc(all, func(a, b near) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.id, b.id)
	})
	var ids []string
	for _, n := range all[:min(len(all), maxNear)] {
		ids = append(ids, n.id)
	}
	return ids
}

// similarity ranks the difference between two ids, 0 for the smallest. It returns false when they are equal or unrelated.
func similarity(wrong, id string) (rank int, ok bool) {
	if wrong == "" || wrong == id {
		return 0, false
	}
	a, b := strings.ToLower(wrong), strings.ToLower(id)
	if a == b {
		return 0, true
	}
	switch {
	case unprefixed(a) == unprefixed(b):
		return 1, true
	case untagged(a) == untagged(b):
		return 2, true
	}
	// One typing error per four letters is allowed, at least 1 and at most 3.
	limit := min(max(utf8.RuneCountInString(short(a))/4, 1), 3)
	d := min(text.Distance(a, b), text.Distance(unprefixed(a), unprefixed(b)), text.Distance(short(a), short(b)))
	return 3 + d, d <= limit
}

// unprefixed returns an id without the provider: "openai/gpt-5" becomes "gpt-5".
func unprefixed(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// untagged returns an id without its tag: "qwen3:latest" becomes "qwen3".
func untagged(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

// short returns only the model's own name.
func short(id string) string { return untagged(unprefixed(id)) }
