package signal

import "os/exec"

// ownGroup does nothing: Windows has no such signal, and the program is killed.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing: there is no group.
func endGroup(*exec.Cmd) {}
