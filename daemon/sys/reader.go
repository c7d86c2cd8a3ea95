package sys

import (
	"context"
	"io"
)

// Interruptible returns a reader of r that fails after the end of ctx, so that a large file does not delay an interrupt.
func Interruptible(ctx context.Context, r io.Reader) io.Reader { return interruptible{ctx, r} }

type interruptible struct {
	ctx context.Context //nolint:containedctx // of one copy
	r   io.Reader
}

// Read reads, or returns the error of the context.
func (i interruptible) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(b)
}
