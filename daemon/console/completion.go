package console

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Complete completes the word typed after the tool's name and args: a flag, the value of a flag, or the value of the positional field.
// anything is true when the value may be any text, such as a path.
// The completion of shells calls it while the user types; nothing is sent to the tool.
func (f *Form) Complete(args []string, typed string) (words []string, anything bool) {
	// "--flag=value" completes the value; the words keep the flag.
	if flag, value, ok := strings.Cut(typed, "="); ok && strings.HasPrefix(flag, "--") {
		for _, w := range f.valuesOf(flag) {
			words = append(words, flag+"="+w)
		}
		return Beginning(words, flag+"="+value), len(words) == 0
	}
	// The word before is a flag that expects a value.
	if n := len(args); n > 0 && f.waits(args[n-1]) {
		words = f.valuesOf(args[n-1])
		return Beginning(words, typed), len(words) == 0
	}
	if strings.HasPrefix(typed, "-") {
		return Beginning(f.flags(), typed), false
	}
	if f.spec.Positional == "" || f.positioned(args) {
		return nil, false
	}
	words = f.valuesOf("--" + strings.ReplaceAll(f.spec.Positional, "_", "-"))
	return Beginning(words, typed), len(words) == 0
}

// valuesOf returns the words that a flag accepts, nil for any text.
func (f *Form) valuesOf(flag string) []string {
	name := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "_", "-")
	i := slices.IndexFunc(f.fields, func(p param) bool { return p.flag == name })
	if i < 0 {
		return nil
	}
	return f.fields[i].words()
}

// waits reports whether an argument is a flag whose value is the next argument.
func (f *Form) waits(arg string) bool {
	flag := f.Set.Lookup(strings.TrimPrefix(arg, "--"))
	return strings.HasPrefix(arg, "--") && flag != nil && flag.NoOptDefVal == ""
}

// positioned reports whether args already give the positional field.
func (f *Form) positioned(args []string) bool {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !f.waits(args[i-1])) {
			return true
		}
	}
	return false
}

// flags lists all flags, each followed by a tab and its description, as shells expect.
func (f *Form) flags() (list []string) {
	f.Set.VisitAll(func(x *pflag.Flag) { list = append(list, "--"+x.Name+"\t"+OneLine(x.Usage)) })
	return list
}

// Beginning returns the words that begin with the typed text.
func Beginning(words []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, typed) })
}
