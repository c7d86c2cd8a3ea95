//go:build unix && !linux

package runtime_test

// playHob and swap are not needed here: their tests are for Linux.
func playHob() int { return 1 }
func swap() int    { return 1 }
