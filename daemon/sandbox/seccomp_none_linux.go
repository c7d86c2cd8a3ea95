//go:build linux && !amd64 && !arm64

package sandbox

func filters() bool { return false }

// filter adds nothing: the numbers of the calls are written down for two processors.
func filter(order []byte) []byte { return order }
