//go:build !linux

package long

import "os"

// begin does nothing: the final sync writes everything.
func begin(*os.File, int64, int64) {}
