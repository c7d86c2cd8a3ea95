package toolset

import "os/exec"

// group leaves a hook as it is: ending it ends its shell.
func group(*exec.Cmd) (end func()) { return func() {} }
