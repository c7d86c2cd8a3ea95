package text

import (
	"fmt"
	"strings"
)

// DidYouMean is the hint for an unknown name: the similar ones.
func DidYouMean(near []string) string { return "did you mean " + strings.Join(near, ", ") + "?" }

// ThereAre is the hint for an unknown name that lists the known ones, at least one: "there is: tea", "there are: tea, coffee and 5 more". It
// shows at most so many.
func ThereAre(names []string, most int) string {
	verb, more := "are", ""
	if len(names) == 1 {
		verb = "is"
	}
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return "there " + verb + ": " + strings.Join(names, ", ") + more
}
