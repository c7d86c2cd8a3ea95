//go:build linux && !amd64

package sandbox_test

func olderCalls() map[string]uintptr { return nil }
