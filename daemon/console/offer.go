package console

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Offer completes the word that is being typed behind the tool's name and args: a flag, or what a flag or the field without one takes.
// anything tells that it may be any text, a path among them.
func (f *Form) Offer(args []string, typed string) (words []string, anything bool) {
	if flag, value, ok := strings.Cut(typed, "="); ok && strings.HasPrefix(flag, "--") {
		for _, w := range f.of(flag) {
			words = append(words, flag+"="+w)
		}
		return beginning(words, flag+"="+value), len(words) == 0
	}
	if n := len(args); n > 0 && f.waits(args[n-1]) {
		words = f.of(args[n-1])
		return beginning(words, typed), len(words) == 0
	}
	if strings.HasPrefix(typed, "-") {
		return beginning(f.flags(), typed), false
	}
	if f.spec.Positional == "" || f.positioned(args) {
		return nil, false
	}
	words = f.of("--" + strings.ReplaceAll(f.spec.Positional, "_", "-"))
	return beginning(words, typed), len(words) == 0
}

// of are the words that the flag of a field takes.
func (f *Form) of(flag string) []string {
	name := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "_", "-")
	i := slices.IndexFunc(f.fields, func(p param) bool { return p.flag == name })
	if i < 0 {
		return nil
	}
	return f.fields[i].words()
}

// waits reports whether the next word is the value of this one.
func (f *Form) waits(arg string) bool {
	flag := f.Set.Lookup(strings.TrimPrefix(arg, "--"))
	return strings.HasPrefix(arg, "--") && flag != nil && flag.NoOptDefVal == ""
}

// positioned reports whether the field without a flag is given already.
func (f *Form) positioned(args []string) bool {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && (i == 0 || !f.waits(args[i-1])) {
			return true
		}
	}
	return false
}

// flags are all flags with what they mean behind a tab, as shells show it.
func (f *Form) flags() (list []string) {
	f.Set.VisitAll(func(x *pflag.Flag) { list = append(list, "--"+x.Name+"\t"+OneLine(x.Usage)) })
	return list
}

func beginning(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, typed) })
}
