// Package doctor is hob doctor: it looks at everything that a hob needs, says what is wrong, why that matters and how to mend it, and
// mends what is safe to mend. It looks from outside, with a running hob and without one; it never opens a database that is in use.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
)

// State is how a check ended.
type State string

// The states. What cannot be looked at is skipped, and says why.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
	Skip State = "skip"
)

// Result is what a check found.
type Result struct {
	Name  string   `json:"name"`
	State State    `json:"state"`
	Found string   `json:"found"`
	Why   string   `json:"why"`             // it matters
	Mend  string   `json:"mend,omitempty"`  // what to type or to do
	Fixed []string `json:"fixed,omitempty"` // what --fix did

	fixes []fix
}

// fix is something that is safe to do.
type fix struct {
	done string // what was done, in the past
	do   func() error
}

// report is the JSON document.
type report struct {
	OK     bool     `json:"ok"` // nothing failed
	Checks []Result `json:"checks"`
}

// check is one of the things that doctor looks at.
type check struct {
	name string
	why  string
	look func(context.Context, *scene) Result
}

// checks are all of them, from the ground up.
func checks() []check {
	return []check{
		{"home", "others on this machine could read what you and hob write", home},
		{"files", "whoever reads them can speak for you, or read everything", files},
		{"config", "what is wrong in the config is not in force", configuration},
		{"secrets", "without its secret a part does not work; one that others can read is none", secrets},
		{"daemon", "nothing happens while hob does not run or makes no progress", running},
		{"service", "without it hob ends with its terminal, and does not come back after a restart", installed},
		{"database", "it holds everything that hob knows", database},
		{"disk", "on a full disk nothing can be stored, so nothing is accepted", space},
		{"clock", "jobs run by the clock, in your time zone", clocks},
		{"model", "without its model hob understands plain commands only", model},
		{"voice", "what is said in voice notes stays unheard", hearing},
		{"channels", "you cannot be reached, or cannot reach hob", channels},
		{"jobs", "a broken job never runs", jobs},
		{"failures", "what was given up is not tried again by itself", failures},
		{"sandbox", "without one, commands run with all your rights", confined},
		{"backup", "a damaged disk takes everything that was not copied", backups},
		{"leftovers", "what an unclean end left takes room and misleads", leftovers},
	}
}

// Command is hob doctor.
func Command(a *cli.App) *cobra.Command {
	var mend bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong, and say how to mend it", Args: cli.None, Example: "  hob doctor\n  hob doctor --fix",
		Long: "Look at hob's home, config, service, daemon, database, model, voice, channels, jobs and backups. The exit code is 1 when something fails.\n" +
			"--fix mends what is safe to mend: rights of files that are too wide, and what an unclean end left behind.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := survey(cmd.Context(), a)
			if err != nil {
				return err
			}
			return show(a, examine(cmd.Context(), s, mend))
		},
	}
	cmd.Flags().BoolVar(&mend, "fix", false, "mend what is safe to mend, and say each thing that was done")
	return cmd
}

// examine makes all checks. With mend, what can be mended is, and looked at again.
func examine(ctx context.Context, s *scene, mend bool) []Result {
	var list []Result
	for _, c := range checks() {
		r := c.look(ctx, s)
		if mend && len(r.fixes) > 0 {
			fixed, failed := carryOut(r.fixes)
			r = c.look(ctx, s)
			r.Fixed = fixed
			if failed != nil {
				r.Mend = strings.TrimPrefix(r.Mend+"; --fix could not do it: "+failed.Error(), "; ")
			}
		} else if len(r.fixes) > 0 {
			r.Mend = strings.TrimPrefix(r.Mend+", or: hob doctor --fix", ", or: ")
		}
		r.Name, r.Why = c.name, c.why
		list = append(list, r)
	}
	return list
}

// carryOut does one thing after the other and ends at the first that cannot be done.
func carryOut(list []fix) (done []string, err error) {
	for _, f := range list {
		if err := f.do(); err != nil {
			return done, err
		}
		done = append(done, f.done)
	}
	return done, nil
}

// show prints the results; one that failed makes the command fail.
func show(a *cli.App, list []Result) error {
	count := map[State]int64{}
	for _, r := range list {
		count[r.State]++
	}
	doc := report{OK: count[Fail] == 0, Checks: list}
	if a.JSON {
		if doc.OK {
			return a.Document(doc)
		}
		return &cli.Problem{Code: cli.ExitFailed, Doc: doc}
	}
	for _, r := range list {
		if !a.Quiet || r.State == Fail || len(r.Fixed) > 0 {
			a.Say("%s", r.text())
		}
	}
	if !a.Quiet {
		a.Say("%s: %d ok, %s, %d failed, %d not looked at", console.Plural(int64(len(list)), "check"), count[OK], console.Plural(count[Warn], "warning"), count[Fail], count[Skip])
	}
	if !doc.OK {
		return &cli.Problem{Code: cli.ExitFailed}
	}
	return nil
}

// text shows a result: one line, and more when something is wrong.
func (r Result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-4s  %-9s  %s", r.State, r.Name, console.OneLine(r.Found))
	more := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n      %-9s  %s", label, console.OneLine(text))
		}
	}
	if r.State == Warn || r.State == Fail {
		more("why", r.Why)
	}
	more("mend", r.Mend)
	for _, f := range r.Fixed {
		more("fixed", f)
	}
	return b.String()
}

// verdict collects what one check finds; the worst of it counts.
type verdict struct {
	state State
	found []string
	mend  []string
	fixes []fix
}

// add notes something that is wrong, and how to mend it ("" when found says so).
func (v *verdict) add(s State, mend, format string, args ...any) {
	if v.state == "" || s == Fail {
		v.state = s
	}
	v.found = append(v.found, fmt.Sprintf(format, args...))
	if mend != "" {
		v.mend = append(v.mend, mend)
	}
}

// result is what was found, or fine when nothing was.
func (v *verdict) result(fine string, args ...any) Result {
	if v.state == "" {
		return Result{State: OK, Found: fmt.Sprintf(fine, args...)}
	}
	return Result{State: v.state, Found: strings.Join(v.found, "; "), Mend: strings.Join(v.mend, "; "), fixes: v.fixes}
}

// skip says why nothing was looked at.
func skip(format string, args ...any) Result {
	return Result{State: Skip, Found: fmt.Sprintf(format, args...)}
}
