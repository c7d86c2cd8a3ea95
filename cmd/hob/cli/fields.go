package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/scheduler"
)

// FieldFlags declares the flags of a trigger's fields. What is given goes into the draft, a pointer to a
// struct. The fields come from the trigger's own table, which the config and the tool read too. That is how a
// new field gets its flag without a change here.
func FieldFlags(cmd *cobra.Command, draft any, fields []scheduler.Field) {
	for _, f := range fields {
		if f.Flag == "" {
			continue
		}
		flags, name := cmd.Flags(), f.FlagName()
		// Target returns a pointer to the field of the draft. Its type decides the type of the flag.
		switch to := scheduler.Target(draft, f.Name).(type) {
		case *string:
			flags.StringVar(to, name, "", f.Flag)
		case *[]string:
			if f.Commas {
				flags.StringSliceVar(to, name, nil, f.Flag)
			} else {
				// A comma may be part of a value, so the flag is repeated for each value.
				flags.StringArrayVar(to, name, nil, f.Flag)
			}
		case *bool:
			flags.BoolVar(to, name, false, f.Flag)
		case **bool: // with false a change can take it back
			flags.BoolFunc(name, f.Flag, func(text string) error { return scheduler.Set(draft, f, text) })
		case *int:
			flags.IntVar(to, name, 0, f.Flag)
		case *int64:
			flags.Int64Var(to, name, 0, f.Flag)
		case *time.Duration:
			flags.DurationVar(to, name, 0, f.Flag)
		}
		if len(f.Words) > 0 {
			CompleteFlag(cmd, name, Words(f.Words...))
		}
		if f.Name == "deliver" {
			CompleteFlag(cmd, name, Words("owner", "none"))
		}
	}
}

// CheckWords refuses the first flag that takes one of a few words and has another.
func CheckWords(cmd *cobra.Command, fields []scheduler.Field) error {
	for _, f := range fields {
		// Some commands declare the flags of only a part of the fields.
		flag := cmd.Flags().Lookup(f.FlagName())
		if flag == nil || len(f.Words) == 0 {
			continue
		}
		if v := flag.Value.String(); v != "" && !slices.Contains(f.Words, v) {
			return Usage("", "--%s %q is not one of %s", flag.Name, v, strings.Join(f.Words, ", "))
		}
	}
	return nil
}

// InFlags replaces the name of a field at the beginning of a text by its flag, if one of ends follows it (by default a
// colon or a quotation mark). others maps further names to flags. Tools and the API name their parameters in errors, but
// a person who typed a flag knows only the flag.
func InFlags(text string, fields []scheduler.Field, others map[string]string, ends ...string) string {
	flags := map[string]string{}
	for _, f := range fields {
		if f.Flag != "" {
			flags[f.Name] = f.FlagName()
		}
	}
	maps.Copy(flags, others)
	// Only a name at the beginning that is followed like this is a parameter; otherwise it is an ordinary word.
	if ends == nil {
		ends = []string{": ", ` "`}
	}
	// A text without a colon and without a space has an empty name, which is no field.
	name := text[:max(strings.IndexAny(text, ": "), 0)]
	flag, ok := flags[name]
	if rest := text[len(name):]; ok && slices.ContainsFunc(ends, func(end string) bool { return strings.HasPrefix(rest, end) }) {
		return "--" + flag + rest
	}
	return text
}
