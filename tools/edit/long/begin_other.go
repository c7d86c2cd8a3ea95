//go:build !linux

package long

import "os"

// begin: the sync at the end writes everything out.
func begin(*os.File, int64, int64) {}
