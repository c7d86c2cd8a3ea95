package sys_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"hob/daemon/sys"
)

// A copy ends where its context does, and keeps what it has read until then.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := sys.Interruptible(ctx, strings.NewReader("ab"))
	b := make([]byte, 1)
	if n, err := r.Read(b); n != 1 || err != nil || b[0] != 'a' {
		t.Errorf("%d, %v, %q", n, err, b)
	}
	cancel()
	if rest, err := io.ReadAll(r); len(rest) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", rest, err)
	}
}
