package pattern

import "golang.org/x/sys/cpu"

// vectors reports whether this processor has the instructions of scan (AVX2).
func vectors() bool { return cpu.X86.HasAVX2 }

// scan looks at the first n bytes of text, 32 positions at a time, for bytes that fit a group of needles. At the first 32 positions where
// one does, it writes the groups that fit each of them to hits. Otherwise at is the number of positions that were examined; these are
// less than 32 short of n-2.
//
//go:noescape
func scan(text *byte, n int, t *tables, hits *[32]byte) (at int, found bool)
