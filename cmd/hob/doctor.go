package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
)

// checkState is the outcome of a check.
type checkState string

// The outcomes. A check that cannot run is skipped, and its text says why.
const (
	checkOK   checkState = "ok"
	checkWarn checkState = "warn"
	checkFail checkState = "fail"
	checkSkip checkState = "skip"
)

// checkResult is the finding of one check.
type checkResult struct {
	Name  string     `json:"name"`
	State checkState `json:"state"`
	Found string     `json:"found"`
	Why   string     `json:"why"`             // why the check matters
	Mend  string     `json:"mend,omitempty"`  // the command or action that repairs it
	Fixed []string   `json:"fixed,omitempty"` // what --fix did

	fixes []checkFix
}

// checkFix is a repair that is safe to do without asking.
type checkFix struct {
	done string // what was done, in the past
	do   func() error
}

// doctorReport is the JSON document.
type doctorReport struct {
	OK     bool          `json:"ok"` // nothing failed
	Checks []checkResult `json:"checks"`
}

// doctorCheck is one check, with the reason why it matters.
type doctorCheck struct {
	name string
	why  string
	look func(context.Context, *doctorFacts) checkResult
}

// doctorChecks lists all checks: first the home, then what depends on it.
func doctorChecks() []doctorCheck {
	return []doctorCheck{
		{"home", "others on this machine could read what you and hob write", checkHome},
		{"files", "whoever reads them can speak for you, or read everything", checkFiles},
		{"config", "what is wrong in the config is not in force", checkConfig},
		{"secrets", "without its secret a part does not work; one that others can read is none", checkSecrets},
		{"daemon", "nothing happens while hob does not run or makes no progress", checkDaemon},
		{"service", "without it hob ends with its terminal, and does not come back after a restart", checkService},
		{"database", "it holds everything that hob knows", checkDatabase},
		{"disk", "on a full disk nothing can be stored, so nothing is accepted", checkDisk},
		{"clock", "jobs run by the clock, in your time zone", checkClock},
		{"model", "without its model hob understands plain commands only", checkModel},
		{"voice", "what is said in voice notes stays unheard", checkVoice},
		{"channels", "you cannot be reached, or cannot reach hob", checkChannels},
		{"jobs", "a broken job never runs", checkJobs},
		{"failures", "what was given up is not tried again by itself", checkFailures},
		{"sandbox", "without one, commands run with all your rights", checkSandbox},
		{"backup", "a damaged disk takes everything that was not copied", checkBackup},
		{"leftovers", "what an unclean end left takes room and misleads", checkLeftovers},
	}
}

// doctorCommand makes hob doctor. It checks from outside, with a running daemon and without one, and never opens a database that is in
// use.
func doctorCommand(a *cli.App) *cobra.Command {
	var mend bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong, and say how to mend it", Args: cli.None, Example: "  hob doctor\n  hob doctor --fix",
		Long: "Look at hob's home, config, service, daemon, database, model, voice, channels, jobs and backups. The exit code is 1 when something fails.\n" +
			"--fix mends what is safe to mend: rights of files that are too wide, and what an unclean end left behind.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := gatherFacts(cmd.Context(), a)
			if err != nil {
				return err
			}
			return printChecks(a, runChecks(cmd.Context(), s, mend))
		},
	}
	cmd.Flags().BoolVar(&mend, "fix", false, "mend what is safe to mend, and say each thing that was done")
	return cmd
}

// runChecks runs all checks. With mend it applies the safe repairs and runs the check again.
func runChecks(ctx context.Context, s *doctorFacts, mend bool) []checkResult {
	var list []checkResult
	for _, c := range doctorChecks() {
		r := c.look(ctx, s)
		if mend && len(r.fixes) > 0 {
			fixed, failed := applyFixes(r.fixes)
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

// applyFixes applies repairs in order and stops at the first that fails.
func applyFixes(list []checkFix) (done []string, err error) {
	for _, f := range list {
		if err := f.do(); err != nil {
			return done, err
		}
		done = append(done, f.done)
	}
	return done, nil
}

// printChecks prints the results. One failed check makes the command fail.
func printChecks(a *cli.App, list []checkResult) error {
	count := map[checkState]int64{}
	for _, r := range list {
		count[r.State]++
	}
	doc := doctorReport{OK: count[checkFail] == 0, Checks: list}
	if a.JSON {
		if doc.OK {
			return a.Document(doc)
		}
		return &cli.Problem{Code: cli.ExitFailed, Doc: doc}
	}
	for _, r := range list {
		if !a.Quiet || r.State == checkFail || len(r.Fixed) > 0 {
			a.Say("%s", r.text())
		}
	}
	if !a.Quiet {
		a.Say("%s: %d ok, %s, %d failed, %d not looked at", console.Plural(int64(len(list)), "check"), count[checkOK], console.Plural(count[checkWarn], "warning"), count[checkFail], count[checkSkip])
	}
	if !doc.OK {
		return &cli.Problem{Code: cli.ExitFailed}
	}
	return nil
}

// text shows a result: one line, and more when something is wrong.
func (r checkResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-4s  %-9s  %s", r.State, r.Name, console.OneLine(r.Found))
	more := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n      %-9s  %s", label, console.OneLine(text))
		}
	}
	if r.State == checkWarn || r.State == checkFail {
		more("why", r.Why)
	}
	more("mend", r.Mend)
	for _, f := range r.Fixed {
		more("fixed", f)
	}
	return b.String()
}

// findings collects the findings of one check. The worst of them decides its outcome.
type findings struct {
	state checkState
	found []string
	mend  []string
	fixes []checkFix
}

// add records a problem and how to repair it ("" if the text says that already).
func (v *findings) add(s checkState, mend, format string, args ...any) {
	if v.state == "" || s == checkFail {
		v.state = s
	}
	v.found = append(v.found, fmt.Sprintf(format, args...))
	if mend != "" {
		v.mend = append(v.mend, mend)
	}
}

// result returns the findings, or fine if there are none.
func (v *findings) result(fine string, args ...any) checkResult {
	if v.state == "" {
		return checkResult{State: checkOK, Found: fmt.Sprintf(fine, args...)}
	}
	return checkResult{State: v.state, Found: strings.Join(v.found, "; "), Mend: strings.Join(v.mend, "; "), fixes: v.fixes}
}

// skipCheck returns the result of a check that did not run, with the reason.
func skipCheck(format string, args ...any) checkResult {
	return checkResult{State: checkSkip, Found: fmt.Sprintf(format, args...)}
}
