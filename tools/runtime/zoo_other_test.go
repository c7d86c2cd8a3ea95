//go:build unix && !linux

package runtime_test

// playHob is not needed here: only Linux tells whose a process is.
func playHob() int { return 1 }
