package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/llm"
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
	d := min(distance(a, b, limit), distance(unprefixed(a), unprefixed(b), limit), distance(short(a), short(b), limit))
	return 3 + d, d <= limit
}

func unprefixed(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func untagged(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

func short(id string) string { return untagged(unprefixed(id)) }

// distance returns the number of letters to insert, remove or change to turn one text into the other (V. Levenshtein, 1966). It stops at
// limit and returns limit+1.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) > limit {
		return limit + 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	// Only one row of the table is kept. least is the smallest value in it; values never become smaller in later rows, so beyond the limit
	// the search ends.
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
