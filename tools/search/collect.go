package search

import (
	"cmp"
	"slices"
	"sync"

	"hob/daemon/text"
)

// hit is a file with its matches.
type hit struct {
	path  string // relative to the start
	count int    // lines that match
	lines []line // the first matching lines, for mode content

	encoding text.Encoding
}

// line is one matching line, or one near it.
// Numbers count from 1. The text is ready for display (see windowed).
type line struct {
	number int
	text   string
	cut    bool
}

// collector keeps the first results in path order and only counts the rest. Its memory is therefore
// bounded by what can be shown.
// All workers of a run share it.
type collector struct {
	need int // results needed: lines for mode content, otherwise files

	mu      sync.Mutex
	hits    []hit
	held    int    // results in hits
	edge    string // later files are only counted; "": none yet
	total   int    // matching lines in all files
	files   int    // files with matches
	content bool
}

// wants reports whether the lines of a file may still be shown.
// Of the other files only the number of matches is needed.
func (c *collector) wants(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.edge == "" || path <= c.edge
}

// add adds the matches of one file.
func (c *collector) add(h hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += h.count
	c.files++
	if c.edge != "" && h.path > c.edge {
		return
	}
	c.hits = append(c.hits, h)
	// Prune seldom, because it sorts. The bound still limits the memory.
	if c.held += c.results(h); c.held > 4*c.need+1000 {
		c.prune()
	}
}

// results counts how many results a hit makes in this mode.
func (c *collector) results(h hit) int {
	if c.content {
		return len(h.lines)
	}
	return 1
}

// prune drops the hits after the results that are needed.
// A file after the edge cannot get into the result, whatever is found later.
func (c *collector) prune() {
	slices.SortFunc(c.hits, func(a, b hit) int { return cmp.Compare(a.path, b.path) })
	c.held = 0
	for i, h := range c.hits {
		if c.held += c.results(h); c.held >= c.need {
			clear(c.hits[i+1:])
			c.hits = c.hits[:i+1]
			c.edge = h.path
			return
		}
	}
}
