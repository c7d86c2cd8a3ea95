package console

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// textMark stands before an argument that is a text and no flag, while flags are parsed. No argument has such a byte: it would
// end there.
const textMark = "\x00"

// ParseFlags reads args into set and returns those that are no flags. Unlike set.Parse it takes a text that only begins like a
// flag for what it is: a patch begins with "---", a list with "- ".
func ParseFlags(set *pflag.FlagSet, args []string) ([]string, error) {
	err := set.Parse(shield(args))
	set.Visit(func(x *pflag.Flag) {
		if text := x.Value.String(); text != bare(text) {
			err = errors.Join(err, x.Value.Set(bare(text)))
		}
	})
	rest := set.Args()
	for i := range rest {
		rest[i] = bare(rest[i])
	}
	return rest, err
}

// shield marks the arguments that begin like a flag and are none: no name of a flag has a space or a line break in it.
func shield(args []string) []string {
	marked := make([]string, len(args))
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(arg, "-") && strings.ContainsAny(name, " \t\r\n") {
			arg = textMark + arg
		}
		marked[i] = arg
	}
	return marked
}

// bare is an argument as it was typed.
func bare(arg string) string { return strings.TrimPrefix(arg, textMark) }
