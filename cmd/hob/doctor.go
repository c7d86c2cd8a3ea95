package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/console"
	"hob/daemon/sys"
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

// checkResult is the finding of one check. It is a row of the JSON document, and a line or more of text for
// people.
type checkResult struct {
	Name   string     `json:"name"`
	State  checkState `json:"state"`
	Found  string     `json:"found"`
	Why    string     `json:"why"`             // why the check matters
	Repair string     `json:"mend,omitempty"`  // the command or action that repairs it
	Fixed  []string   `json:"fixed,omitempty"` // what --fix did

	fixes []checkFix
}

// checkFix is a repair that is safe to do without asking.
type checkFix struct {
	done string // what was done, in the past
	do   func() error
}

// doctorReport is the JSON document.
// It is printed also when a check failed, and then with exit code 1.
type doctorReport struct {
	OK     bool          `json:"ok"` // nothing failed
	Checks []checkResult `json:"checks"`
}

// doctorCheck is one check, with the reason why it matters. One that needs a running daemon or a readable home
// says so in needs, so that its function can rely on it.
type doctorCheck struct {
	name  string
	why   string
	needs func(*doctorFacts) *checkResult // returns the result if the check cannot run; nil: it always runs
	look  func(context.Context, *doctorFacts) checkResult
}

// run makes the check, or says why it cannot run. All checks run side by side, so look changes nothing.
func (c doctorCheck) run(ctx context.Context, s *doctorFacts) checkResult {
	if c.needs != nil {
		if r := c.needs(s); r != nil {
			return *r
		}
	}
	return c.look(ctx, s)
}

// checkTime is how long a check may wait for the daemon, a server or another program. The daemon gives the servers that it asks 4 s, so
// that its answer can say which of them did not answer.
const checkTime = 5 * time.Second

// limited ends a check after checkTime.
func limited(look func(context.Context, *doctorFacts) checkResult) func(context.Context, *doctorFacts) checkResult {
	return func(ctx context.Context, s *doctorFacts) checkResult {
		ctx, stop := context.WithTimeout(ctx, checkTime)
		defer stop()
		r := look(ctx, s)
		// What the check has found because of the limit would not say that.
		if (r.State == checkWarn || r.State == checkFail) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r = checkResult{State: checkFail, Found: fmt.Sprintf("no answer within %s", checkTime), Repair: "try it again in a while: hob doctor; or look at hob service logs"}
		}
		return r
	}
}

// doctorChecks lists all checks: first the home, then what depends on it. To add a check, write its function
// and a line here; one that asks others is limited.
func doctorChecks() []doctorCheck {
	return []doctorCheck{
		{"home", "others on this machine could read what you and hob write", nil, checkHome},
		{"files", "anyone who can read them can read everything, or act as you", (*doctorFacts).unreadable, checkFiles},
		{"config", "hob does not use the parts of the config that are wrong", nil, checkConfig},
		{"secrets", "a model without its key does not work, and others can use a key that they can read", (*doctorFacts).unreadable, limited(checkSecrets)},
		{"daemon", "nothing happens while hob does not run or makes no progress", nil, checkDaemon},
		{"service", "without it hob ends with its terminal, and does not come back after a restart", nil, limited(checkService)},
		{"database", "it holds everything that hob knows", nil, checkDatabase},
		{"disk", "on a full disk nothing can be stored, so nothing is accepted", nil, checkDisk},
		{"clock", "jobs run by the clock, in your time zone", nil, checkClock},
		{"model", "without its model hob understands plain commands only", (*doctorFacts).unanswered, limited(checkModel)},
		{"voice", "hob cannot understand voice notes", (*doctorFacts).unanswered, limited(checkVoice)},
		{"memory", "hob does not find what you told it", (*doctorFacts).unanswered, limited(checkMemory)},
		{"channels", "you cannot be reached, or cannot reach hob", (*doctorFacts).unanswered, checkChannels},
		{"jobs", "a broken job never runs", (*doctorFacts).unanswered, limited(checkJobs)},
		{"failures", "hob does not try again by itself what it has given up", (*doctorFacts).unanswered, limited(checkFailures)},
		{"sandbox", "without one, commands run with all your rights", nil, limited(checkSandbox)},
		{"backup", "a damaged disk takes everything that was not copied", (*doctorFacts).unreadable, checkBackup},
		{"leftovers", "files that a crash left behind take room and mislead", (*doctorFacts).unreadable, checkLeftovers},
	}
}

// doctorCommand makes hob doctor. It checks from outside, with a running daemon and without one, and never
// opens a database that is in use. All facts are gathered first (gatherFacts), then each check judges them,
// then everything is printed.
func doctorCommand(a *cli.App) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong, and say how to fix it", Args: cli.None, Example: "  hob doctor\n  hob doctor --fix",
		Long: "Look at hob's home, config, service, daemon, database, model, voice, memory, channels, jobs and backups. The exit code is 1 when something fails.\n" +
			"--fix repairs what is safe to repair: file permissions that are too wide, and files that a crash left behind.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := gatherFacts(cmd.Context(), a)
			if err != nil {
				return err
			}
			return printChecks(a, runChecks(cmd.Context(), s, repair))
		},
	}
	cmd.Flags().BoolVar(&repair, "fix", false, "repair what is safe to repair, and print each repair")
	return cmd
}

// runChecks runs all checks side by side. With repair it then applies the safe repairs in order and runs those checks again.
func runChecks(ctx context.Context, s *doctorFacts, repair bool) []checkResult {
	checks := doctorChecks()
	list := make([]checkResult, len(checks))
	g := sys.NewGroup(slog.Default(), nil)
	for i, c := range checks {
		list[i] = checkResult{State: checkFail, Found: "this check broke off", Repair: "report this as a bug of hob"}
		g.Once(c.name, func() error {
			list[i] = c.run(ctx, s)
			return nil
		})
	}
	g.Wait()
	for i, c := range checks {
		r := list[i]
		if repair && len(r.fixes) > 0 {
			fixed, failed := applyFixes(r.fixes)
			// Look again: the result must say what is true now, not that a repair was tried.
			r = c.run(ctx, s)
			r.Fixed = fixed
			if failed != nil {
				r.Repair = strings.TrimPrefix(r.Repair+"; --fix could not do it: "+failed.Error(), "; ")
			}
		} else if len(r.fixes) > 0 {
			r.Repair = strings.TrimPrefix(r.Repair+", or: hob doctor --fix", ", or: ")
		}
		r.Name, r.Why = c.name, c.why
		list[i] = r
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
		// With --quiet only failures and repairs are printed.
		if !a.Quiet || r.State == checkFail || len(r.Fixed) > 0 {
			a.Say("%s", r.text())
		}
	}
	if !a.Quiet {
		a.Say("%s: %d ok, %s, %d failed, %d not looked at", console.Plural(int64(len(list)), "check"), count[checkOK], console.Plural(count[checkWarn], "warning"), count[checkFail], count[checkSkip])
	}
	if !doc.OK {
		// The results were printed above, so only the exit code is left to set.
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
	more("fix", r.Repair)
	for _, f := range r.Fixed {
		more("fixed", f)
	}
	return b.String()
}

// findings collects the findings of one check. The worst of them decides its outcome.
// A check calls add for each problem and ends with result.
type findings struct {
	state  checkState
	found  []string
	repair []string
	fixes  []checkFix
}

// add records a problem and how to repair it ("" if the text says that already). A warning never hides a
// failure.
func (v *findings) add(s checkState, repair, format string, args ...any) {
	if v.state == "" || s == checkFail {
		v.state = s
	}
	v.found = append(v.found, fmt.Sprintf(format, args...))
	if repair != "" {
		v.repair = append(v.repair, repair)
	}
}

// result returns the findings, or fine if there are none.
func (v *findings) result(fine string, args ...any) checkResult {
	if v.state == "" {
		return checkResult{State: checkOK, Found: fmt.Sprintf(fine, args...)}
	}
	return checkResult{State: v.state, Found: strings.Join(v.found, "; "), Repair: strings.Join(v.repair, "; "), fixes: v.fixes}
}

// skipCheck returns the result of a check that did not run, with the reason.
func skipCheck(format string, args ...any) checkResult {
	return checkResult{State: checkSkip, Found: fmt.Sprintf(format, args...)}
}
