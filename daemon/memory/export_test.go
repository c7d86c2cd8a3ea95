package memory

import (
	"context"

	"hob/daemon/fsguard"
)

// IndexHistory indexes the history without rests, as many batches as are wanted.
func (x *Index) IndexHistory(ctx context.Context, batches int) error {
	return x.indexHistory(ctx, batches)
}

// Read reads a memory file and tells what the index would hold of it.
func Read(g *fsguard.Guard, name string) (windows int, state, problem string) {
	c, _ := read(g, found{path: name}, func(s string) string { return s })
	return len(c.windows), c.state, c.problem
}
