package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/llm"
)

// maxNear is how many ids are offered for a wrong one.
const maxNear = 3

// Nearest returns up to three ids that a wrong one may have meant, the likeliest first: written in other case, without the
// provider in front ("openai/"), with another tag behind or none (":latest"), or with a few other letters.
func Nearest(id string, entries []llm.Entry) []string {
	type near struct {
		id   string
		rank int
	}
	var all []near
	for _, e := range entries {
		if rank, ok := kinship(id, e.ID); ok {
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

// kinship ranks how little two ids differ, 0 the least; false when they have nothing to do with each other, or are the same.
func kinship(wrong, id string) (rank int, ok bool) {
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
	limit := min(max(utf8.RuneCountInString(short(a))/4, 1), 3)
	d := min(distance(a, b, limit), distance(unprefixed(a), unprefixed(b), limit), distance(short(a), short(b), limit))
	return 3 + d, d <= limit
}

func unprefixed(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func untagged(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

func short(id string) string { return untagged(unprefixed(id)) }

// distance counts the letters to insert, drop or change to make one text of the other (V. Levenshtein, 1966); more than limit is
// limit+1.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) > limit {
		return limit + 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		corner, least := row[0], i+1
		row[0] = i + 1
		for j, s := range y {
			changed := corner
			if r != s {
				changed++
			}
			corner = row[j+1]
			row[j+1] = min(changed, row[j]+1, corner+1)
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
	}
	return min(row[len(y)], limit+1)
}
