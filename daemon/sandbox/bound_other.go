//go:build !linux

package sandbox

import (
	"errors"
	"syscall"
)

// maxProcesses is 0: no limit is enforced on this system.
const maxProcesses = 0

// Bound does nothing on this system.
type Bound struct {
	memory int64
	above  string
}

func halfMemory() int64 { return 0 }

func delegated() (string, error) { return "", errors.New("not on this system") }

// Attach does nothing.
func (b *Bound) Attach(*syscall.SysProcAttr) error { return nil }

// Close does nothing.
func (b *Bound) Close() (over string, err error) { return "", nil }

// Watched is always false: this system offers no cheap way to measure a sandbox.
func (b *Bound) Watched() bool { return false }

// Over is always "".
func (b *Bound) Over(int) string { return "" }
