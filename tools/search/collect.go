package search

import (
	"cmp"
	"slices"
	"sync"
)

// hit is a file with what was found in it.
type hit struct {
	path  string // below the start
	count int    // lines that match
	lines []line // of content, the first ones
}

type line struct {
	number int
	text   string
	cut    bool
}

// collector keeps, of all that is found, the first results in the order of their paths, and counts the rest. So what it
// holds is bounded by what can be shown.
type collector struct {
	need int // results that are wanted: lines of content, else files

	mu      sync.Mutex
	hits    []hit
	held    int    // results in hits
	edge    string // files behind it are only counted; "" none yet
	total   int    // lines that match, in all files
	files   int    // that hold such lines
	content bool
}

// wants says whether what is in a file may be shown.
func (c *collector) wants(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.edge == "" || path <= c.edge
}

func (c *collector) add(h hit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += h.count
	c.files++
	if c.edge != "" && h.path > c.edge {
		return
	}
	c.hits = append(c.hits, h)
	if c.held += c.results(h); c.held > 4*c.need+1000 {
		c.prune()
	}
}

func (c *collector) results(h hit) int {
	if c.content {
		return len(h.lines)
	}
	return 1
}

// prune drops what stands behind the results that are needed.
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
