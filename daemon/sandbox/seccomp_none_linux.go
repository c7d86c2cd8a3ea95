//go:build linux && !amd64 && !arm64

package sandbox

func filters() bool { return false }

// filter adds nothing: hob knows the call numbers of two processors only.
func filter(order []byte, _ kinds) []byte { return order }

// kinds says nothing without a filter.
type kinds struct{ asks, owner, watched bool }

func supervisable() bool { return false }

func (c *Command) serve() error { return nil }
