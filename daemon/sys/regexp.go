package sys

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles a regular expression at its first use and keeps it. Package variables use it, because the initialisers of
// all packages run at each start of hob, also for a command that needs none of them. A mistake in the expression panics at the first use.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
