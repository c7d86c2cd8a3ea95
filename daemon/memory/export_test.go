package memory

import "context"

// IndexHistory indexes the history without rests, as many batches as are wanted.
func (x *Index) IndexHistory(ctx context.Context, batches int) error {
	return x.indexHistory(ctx, batches)
}
