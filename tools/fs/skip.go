package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Sizes for skipping blocks.
const (
	skipBlock = 4 << 20  // bytes skipped at once, half of them by each of two goroutines
	skipFrom  = 16 << 20 // minimum file size; below it a plain read is as fast
)

// skipBlocks skips whole blocks of a large file as long as line n cannot start in them. It returns
// how many lines they contain and where they end. It never skips the last block, so that the rest
// shows whether the file ends in the middle of a line.
func (r reader) skipBlocks(ctx context.Context, f *os.File, size int64, n int) (done int, at int64, err error) {
	if n == 0 || size < skipFrom || r.deps.Spawn == nil {
		return 0, 0, nil
	}
	mine, other := make([]byte, chunk), make([]byte, chunk)
	for at+skipBlock < size {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		var a, b int
		var errA, errB error
		var both sync.WaitGroup
		both.Add(1)
		// Count the second half of the block in a second goroutine.
		r.deps.Spawn.Once("count lines", func() error {
			defer both.Done()
			errB = errGone // remains if the count panics
			b, errB = breaks(f, at+skipBlock/2, other)
			return nil
		})
		a, errA = breaks(f, at, mine)
		both.Wait()
		if err := errors.Join(errA, errB); err != nil {
			return 0, 0, err
		}
		// Line n starts in this block. The caller reads it line by line from its beginning.
		if done+a+b >= n {
			return done, at, nil
		}
		done, at = done+a+b, at+skipBlock
	}
	return done, at, nil
}

// errGone is the result of a count that panicked.
var errGone = errors.New("lines were not counted")

// breaks counts the line breaks in half a block.
func breaks(f *os.File, at int64, buf []byte) (n int, err error) {
	for left := skipBlock / 2; left > 0; left -= len(buf) {
		if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("count lines: %w", err)
		} else if err != nil {
			return 0, fmt.Errorf("count lines: %w: the file became shorter", io.ErrUnexpectedEOF)
		}
		n += bytes.Count(buf, []byte{'\n'})
		at += int64(len(buf))
	}
	return n, nil
}
