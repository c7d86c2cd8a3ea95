package importer

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/cmd/hob/cli"
	"hob/daemon/api/client"
)

// typedFlags returns the flags of a command line as a shell reads them, each with a space before it. A hint that repeats the command needs
// them: without --dry-run, the command in the hint would be a real import. Flags without a value say the same as missing ones.
func typedFlags(cmd *cobra.Command) string {
	var b strings.Builder
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case value == "":
		case f.Value.Type() != "bool":
			b.WriteString(" --" + f.Name + " " + cli.Quote(value))
		case value == "true":
			b.WriteString(" --" + f.Name)
		default:
			b.WriteString(" --" + f.Name + "=" + value)
		}
	})
	return b.String()
}

// againHint is the same command for another program.
func againHint(flags, program, dir string) string {
	if strings.HasPrefix(dir, "-") { // it came after "--"
		dir = "./" + dir
	}
	return "hob import" + flags + " " + program + " " + cli.Quote(dir)
}

// systemHint is the same command for the user of the system's hob. dir is absolute, because sudo may start in another folder.
func systemHint(flags, program, dir string) string {
	return "sudo -u hob hob --home " + client.SystemHome + " import" + flags + " " + program + " " + cli.Quote(dir)
}

// quoteTilde quotes a path of the other program's settings for a shell. The shell expands its tilde, as the other program does.
func quoteTilde(path string) string {
	if below, ok := strings.CutPrefix(path, "~/"); ok && below != "" {
		return "~/" + cli.Quote(below)
	}
	return cli.Quote(path)
}
