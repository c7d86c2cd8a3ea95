package document

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRanges is how many ranges a choice of pages may have.
const maxRanges = 50

// Pages is a choice of pages in the order in which they are wanted. The empty one is all pages.
type Pages []Range

// Range is the pages from From to To, both from 1; To is 0 when it goes on to the end.
type Range struct{ From, To int }

// ParsePages reads a choice such as "1-3,7" or "12-". ErrPages says what is wrong with it.
func ParsePages(s string) (Pages, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	list := strings.Split(s, ",")
	if len(list) > maxRanges {
		return nil, fmt.Errorf("%w: more than %d ranges", ErrPages, maxRanges)
	}
	var out Pages
	for _, item := range list {
		r, ok := rangeOf(strings.TrimSpace(item))
		if !ok {
			return nil, fmt.Errorf(`%w: %.40q is none; want numbers from 1, as in "1-3,7" or "12-"`, ErrPages, item)
		}
		out = append(out, r)
	}
	return out, nil
}

func rangeOf(s string) (Range, bool) {
	first, last, through := strings.Cut(s, "-")
	from, ok := numberOf(first)
	switch {
	case !ok:
		return Range{}, false
	case !through:
		return Range{from, from}, true
	case strings.TrimSpace(last) == "":
		return Range{From: from}, true
	}
	to, ok := numberOf(last)
	return Range{from, to}, ok && from <= to
}

// numberOf reads a page's number; Atoi would take a sign.
func numberOf(s string) (int, bool) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n > 0
}

// of is the choice in a document of n pages: ranges without open ends. ErrPages when a range begins behind the last page.
func (p Pages) of(n int) (Pages, error) {
	if len(p) == 0 {
		return Pages{{1, n}}, nil
	}
	out := make(Pages, len(p))
	for i, r := range p {
		if r.From > n {
			return nil, fmt.Errorf("%w: page %d is asked for, and it has %d", ErrPages, r.From, n)
		}
		if r.To == 0 || r.To > n {
			r.To = n
		}
		out[i] = r
	}
	return out, nil
}
