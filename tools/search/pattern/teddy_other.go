//go:build !amd64

package pattern

// vectors reports that scan was not written for this kind of processor.
func vectors() bool { return false }

func scan(*byte, int, *tables, *[32]byte) (at int, found bool) { return 0, false }
