//go:build !linux || (!amd64 && !arm64)

package sandbox

import "os"

// Calls is for systems on which hob decides about the calls of a sandbox.
type Calls struct{}

// Serve does nothing.
func (c *Calls) Serve() error { return nil }

// statusPipe makes the way on which package entry reports that the command begins.
func statusPipe() (read, write *os.File, err error) { return os.Pipe() }

// receive reads the report, of which data has the size.
func receive(status *os.File, data []byte) (int, *os.File, error) {
	n, err := status.Read(data)
	return n, nil, err
}

func newCalls(*os.File, bool) *Calls { return nil }
