package cli

import (
	"regexp"
	"strings"
)

// Quote returns s as one word for a POSIX shell, for commands that a person copies from a hint. A word that no shell changes is returned as
// it is.
func Quote(s string) string {
	// A shell may replace a tilde at the beginning, or after = or :, by a home folder; zsh replaces =NAME by the path of a program.
	if plain, expands := regexp.MustCompile(`^[A-Za-z0-9._/+@:=,~%-]+$`), regexp.MustCompile(`(^|[=:])~|^=`); plain.MatchString(s) && !expands.MatchString(s) {
		return s
	}
	// In single quotes only the single quote itself is special (POSIX, Shell Command Language, 2.2.2).
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
