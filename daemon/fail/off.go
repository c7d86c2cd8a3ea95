//go:build !hobtest

package fail

// Point marks a crash point.
func Point(string) {}

// Broken reports whether the deliberate fault of that name is switched in: never, in a release build.
func Broken(string) bool { return false }
