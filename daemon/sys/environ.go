package sys

import (
	"os"
	"slices"
	"strings"
)

// Environ returns hob's environment without its own variables, which may hold secrets.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "HOB_") })
}
