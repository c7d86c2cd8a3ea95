package document

import (
	"fmt"
	"strconv"
	"strings"
)

// maxRanges limits the ranges in a selection of pages.
const maxRanges = 50

// Pages is a selection of pages in the requested order. The empty selection means all pages.
type Pages []Range

// Range is the pages from From to To, both from 1. To is 0 if the range extends to the end.
type Range struct{ From, To int }

// ParsePages parses a selection such as "1-3,7" or "12-". An ErrPages says what is wrong with it.
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
			return nil, fmt.Errorf(`%w: %.40q is not a page or range; want numbers from 1, as in "1-3,7" or "12-"`, ErrPages, item)
		}
		out = append(out, r)
	}
	return out, nil
}

// rangeOf parses one range.
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

// numberOf parses the number of a page. Unlike Atoi it accepts no sign.
func numberOf(s string) (int, bool) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n > 0
}

// of returns the selection for a document of n pages, without open ends. ErrPages if a range starts
// after the last page.
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
