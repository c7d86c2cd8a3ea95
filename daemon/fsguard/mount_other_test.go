//go:build unix && !linux

package fsguard_test

import "errors"

func mount(string, string) error { return errors.New("no bind mounts here") }
func unmount(string) error       { return nil }
