package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"golang.org/x/term"

	"hob/daemon/api"
	"hob/daemon/console"
)

// Size returns the function that tells the size of the terminal that the output goes to.
func (a *App) Size() func() (width, height int) {
	return func() (int, int) {
		w, h, err := term.GetSize(int(a.Out.Fd()))
		if err != nil || w == 0 {
			return 80, 24
		}
		return w, h
	}
}

// Look returns what the terminal can show. The locale says whether it shows more than ASCII: the first of these variables that is set
// counts (POSIX, "Environment Variables", 8.2). Windows has none of them.
func (a *App) Look() console.Look {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	locale = strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return console.Look{
		Color: a.Color(a.Out),
		UTF8:  strings.Contains(locale, "utf8") || locale == "" && os.Getenv("TERM") != "linux",
		Moves: os.Getenv("TERM") != "dumb",
	}
}

// Dot is the sign between the parts of a line.
func (a *App) Dot() string {
	if IsTerminal(a.Out) && !a.Look().UTF8 {
		return "-"
	}
	return "·"
}

// Offers returns what Tab completes in a conversation: chat commands, and after a word the names of jobs, watches, sessions and open
// questions. A slow daemon offers nothing, so that it does not hold the typing up.
func (a *App) Offers(ctx context.Context) func(line string) []string {
	quiet := *a // completion must not print anything
	return func(line string) []string {
		if !strings.Contains(line, " ") {
			return strings.Fields("/answer /approve /attach /cancel /capabilities /clean /compact /deny /exit /help /jobs /model /new /queue /quiet /quit /retry /sessions /status /stop /usage /why")
		}
		var list []string
		typed := line[strings.LastIndexByte(line, ' ')+1:]
		for _, resource := range []string{api.Jobs.Name(), api.Watches.Name(), api.Sessions.Name(), api.Questions.Name()} {
			for _, name := range quiet.names(ctx, resource, typed) {
				name, _, _ = strings.Cut(name, "\t") // shells get a description after it
				list = append(list, name)
			}
		}
		return list
	}
}
