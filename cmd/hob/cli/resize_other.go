//go:build !unix

package cli

import "os"

// Resizes never tells anything: there is no signal for it. The size is read again for each line.
func Resizes() (c <-chan os.Signal, still func()) { return nil, func() {} }
