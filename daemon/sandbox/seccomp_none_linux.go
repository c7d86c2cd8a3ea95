//go:build linux && !amd64 && !arm64

package sandbox

func filters() bool { return false }

// filter adds nothing: hob knows the call numbers of two processors only.
func filter(order []byte) []byte { return order }
