package markup

import (
	"slices"
	"sort"
	"strings"
)

// rank is the quality of a place to cut; higher is better.
type rank uint8

const (
	// The ranks.
	inWord rank = iota
	wordEnd
	lineEnd
	blockEnd
)

// place is a position where a text can be cut: after off bytes of a run.
type place struct {
	leaf, run, off int
	rank           rank
}

// take cuts off the first part: the longest that fits, up to the best place near its end. It changes d; rest
// is d's end.
func (f Form) take(d doc) (head, rest doc) {
	window, over := f.window(d)
	if !over {
		// The whole rest fits: this is the last part.
		if all := whole(d); f.fits(all) {
			return all, nil
		}
	}
	places := f.places(d[:window])
	fits := func(p place) bool { return f.fits(headOf(d, p)) }
	// The size grows with the text, so the longest head is found by binary search; rendering is expensive.
	n := sort.Search(len(places), func(i int) bool { return !fits(places[i]) })
	if n == 0 {
		return f.least(d, places)
	}
	// A better kind of place is preferred if the part keeps at least a quarter of the possible length.
	best := places[n-1]
	for want := blockEnd; want > inWord; want-- {
		i := n - 1
		for i > n/4 && places[i].rank < want {
			i--
		}
		if places[i].rank >= want && fits(places[i]) {
			best = places[i]
			break
		}
	}
	return headOf(d, best), restOf(d, best)
}

// least handles a text of which nothing fits. It removes the containers of the first block and makes their
// markers text, then removes styles and links. In the end a single character is a part.
func (f Form) least(d doc, places []place) (head, rest doc) {
	first := d[0]
	switch {
	case len(first.path) > 0:
		var markers string
		for _, b := range first.path {
			if b.item() {
				markers += b.marker()
			}
		}
		detach(d[1:], first.path)
		d[0].path = nil
		d[0].runs = append([]run{{text: markers}}, first.runs...)
	case slices.ContainsFunc(first.runs, func(r run) bool { return r.style != 0 || r.url != "" }):
		d[0].runs = nil
		for _, r := range first.runs {
			if r.url != "" {
				r.text = withAddress(r.text, r.url)
			}
			d[0].runs = append(d[0].runs, run{text: r.text})
		}
		d[0].runs = tidy(d[0].runs)
	default:
		return headOf(d, places[0]), restOf(d, places[0])
	}
	return f.take(d)
}

// window returns how many blocks could fit, and whether it is certain that not all do: a unit of any platform
// is at most four bytes of UTF-8.
func (f Form) window(d doc) (blocks int, over bool) {
	bytes := 0
	for i, l := range d {
		for _, r := range l.runs {
			if bytes += len(r.text); bytes > 4*max(f.Limit, smallest) {
				return i + 1, true
			}
		}
	}
	return len(d), false
}

// places lists the positions where blocks can be cut, in order, as far as they could fit.
func (f Form) places(d doc) []place {
	var all []place
	// Places that surely do not fit are not listed, so the work per part is bounded.
	room := 4 * max(f.Limit, smallest)
	for i, l := range d {
		for j, r := range l.runs {
			off := 0
			for off < len(r.text) && r.url == "" && room > 0 {
				n := Cluster(r.text[off:])
				off += n
				room -= n
				all = append(all, place{leaf: i, run: j, off: off, rank: rankOf(r.text[off-1])})
			}
			if r.url != "" {
				all = append(all, place{leaf: i, run: j, off: len(r.text)})
			}
			if room <= 0 {
				return all
			}
		}
		if len(l.runs) == 0 {
			all = append(all, place{leaf: i})
		}
		last := &all[len(all)-1]
		last.rank = blockEnd
		if l.kind == heading {
			last.rank = wordEnd // a heading stays with its text
		}
	}
	return all
}

// rankOf returns the rank of a place after a byte.
func rankOf(last byte) rank {
	switch last {
	case '\n':
		return lineEnd
	case ' ':
		return wordEnd
	}
	return inWord
}

// whole returns a text as a separate part.
func whole(d doc) doc {
	part := slices.Clone(d)
	for i, l := range part {
		part[i].path = slices.Clone(l.path)
		if cut := i == 0 || i == len(d)-1; cut && l.kind != code {
			part[i].runs = tidy(l.runs)
		}
	}
	part.settle()
	return part
}

// headOf returns the text before a place as a separate part.
func headOf(d doc, p place) doc {
	part := append(slices.Clone(d[:p.leaf]), d[p.leaf])
	last := &part[p.leaf]
	if last.kind == rule {
		return whole(part)
	}
	last.runs = slices.Clone(last.runs[:p.run+1])
	cut := &last.runs[p.run]
	cut.text = cut.text[:p.off]
	if last.kind == code {
		cut.text = strings.TrimRight(cut.text, "\n")
	}
	if last.blank() {
		part = part[:p.leaf]
	}
	return whole(part)
}

// restOf returns the text after a place, made from d itself. Cut items lose their markers.
func restOf(d doc, p place) doc {
	l := d[p.leaf]
	rest := d[p.leaf+1:]
	if l.kind != rule {
		if d[p.leaf].runs = after(l, p); !d[p.leaf].blank() {
			rest = d[p.leaf:]
		}
	}
	detach(rest, l.path)
	return rest
}

// after returns the runs of a leaf after a place, with the directions that are open there opened again.
func after(l leaf, p place) []run {
	open := ""
	if l.kind != code {
		before := slices.Clone(l.runs[:p.run+1])
		before[p.run].text = before[p.run].text[:p.off]
		open = opened(before)
	}
	runs := l.runs[p.run:]
	runs[0].text = runs[0].text[p.off:]
	if l.kind == code {
		runs[0].text = strings.TrimPrefix(runs[0].text, "\n")
		return runs
	}
	for len(runs) > 0 && runs[0].url == "" && runs[0].style&mono == 0 {
		if runs[0].text = strings.TrimLeft(runs[0].text, " \n"); runs[0].text != "" {
			break
		}
		runs = runs[1:]
	}
	for len(runs) > 0 && runs[0].text == "" {
		runs = runs[1:]
	}
	if open != "" && len(runs) > 0 {
		return append([]run{{text: open}}, runs...)
	}
	return runs
}

// detach removes the items in begun from the leaves, because these items began before them.
func detach(d doc, begun []container) {
	for i, l := range d {
		stays := func(b container) bool {
			return !b.item() || !slices.ContainsFunc(begun, func(o container) bool { return o.id == b.id })
		}
		var path []container
		for _, b := range l.path {
			if stays(b) {
				path = append(path, b)
			}
		}
		if len(path) == len(l.path) {
			return
		}
		d[i].path = path
	}
}
