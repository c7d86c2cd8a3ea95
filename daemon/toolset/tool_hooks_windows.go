package toolset

import "os/exec"

// group does nothing: ending a hook ends only its shell on this system.
func group(*exec.Cmd) (end func()) { return func() {} }
