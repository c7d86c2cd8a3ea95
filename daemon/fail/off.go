//go:build !hobtest

package fail

// Point marks a crash point.
func Point(string) {}

// Broken reports whether the named deliberate fault is switched on: never in a release build.
func Broken(string) bool { return false }
