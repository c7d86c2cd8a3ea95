package phrase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// numbers is a sorted set, written as in cron: "1-5", "0,6".
type numbers []int

// add keeps the order and ignores a number that is in the set already.
func (n *numbers) add(v int) {
	if i, found := slices.BinarySearch(*n, v); !found {
		*n = slices.Insert(*n, i, v)
	}
}

// String writes three or more consecutive numbers as a range.
func (n numbers) String() string {
	var items []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j-i >= 2 {
			items = append(items, fmt.Sprintf("%d-%d", n[i], n[j]))
			i = j + 1
			continue
		}
		items = append(items, strconv.Itoa(n[i]))
		i++
	}
	return strings.Join(items, ",")
}

// cronTimes writes times of day as the first fields of a cron spec. It returns false when one spec cannot express them all.
func cronTimes(times []clockTime) (string, bool) {
	hours, minutes := numbers{}, numbers{}
	all := map[clockTime]bool{}
	for _, c := range times {
		// One spec has one field of seconds for all times.
		if c.second != times[0].second {
			return "", false
		}
		hours.add(c.hour)
		minutes.add(c.minute)
		all[clockTime{hour: c.hour, minute: c.minute}] = true
	}
	// Cron fires at each of the hours with each of the minutes, so the times must be all of these pairs.
	if len(hours)*len(minutes) != len(all) {
		return "", false
	}
	text := fmt.Sprintf("%v %v", minutes, hours)
	if s := times[0].second; s != 0 {
		text = fmt.Sprintf("%d %s", s, text)
	}
	return text, true
}
