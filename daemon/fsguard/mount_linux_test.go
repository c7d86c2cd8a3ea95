package fsguard_test

import "syscall"

func mount(source, at string) error { return syscall.Mount(source, at, "", syscall.MS_BIND, "") }
func unmount(at string) error       { return syscall.Unmount(at, 0) }
