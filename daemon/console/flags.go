package console

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// textMark is put before an argument that begins like a flag but is a text, while flags are parsed. No argument contains this byte, because
// the operating system ends arguments with it.
const textMark = "\x00"

// ParseFlags parses args into set and returns the arguments that are not flags. Unlike set.Parse it accepts texts that begin like a flag:
// a patch begins with "---", a list with "- ".
func ParseFlags(set *pflag.FlagSet, args []string) ([]string, error) {
	err := set.Parse(shield(args))
	// Values of flags were marked as well.
	// Only flags that were given are visited.
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

// shield marks the arguments that begin like a flag but cannot be one: the name of a flag has no space and no line break.
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

// bare returns an argument as it was typed.
func bare(arg string) string { return strings.TrimPrefix(arg, textMark) }
