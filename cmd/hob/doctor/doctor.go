// Package doctor looks for what is wrong with hob and its machine, and says how to repair it. It works from outside, with a running daemon
// and without one. It never opens a database that is in use, and changes nothing unless the owner asks for the safe repairs.
package doctor

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

// State is the outcome of a check.
type State string

// The outcomes. A check that cannot run is skipped, and its text says why.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "fail"
	Skip State = "skip"
)

// Result is the finding of one check. It is a row of the JSON document, and a line or more of text for
// people. A check calls add for each problem and ends with or.
type Result struct {
	Name   string   `json:"name"`
	State  State    `json:"state"`
	Found  string   `json:"found"`
	Why    string   `json:"why"`             // why the check matters
	Repair string   `json:"mend,omitempty"`  // the command or action that repairs it
	Fixed  []string `json:"fixed,omitempty"` // what --fix did

	fixes []repair
}

// repair is a repair that is safe to do without asking.
type repair struct {
	done string // what was done, in the past
	do   func() error
}

// report is the JSON document.
// It is printed also when a check failed, and then with exit code 1.
type report struct {
	OK     bool     `json:"ok"` // nothing failed
	Checks []Result `json:"checks"`
}

// check is one check, with the reason why it matters. One that needs a running daemon or a readable home
// says so in needs, so that its function can rely on it.
type check struct {
	name  string
	looks string // what is true if all is well
	why   string
	needs func(*facts) string // says why the check cannot run, "": it can; nil: it always runs
	look  func(context.Context, *facts) Result
}

// run makes the check, or says why it cannot run. All checks run side by side, so look changes nothing.
func (c check) run(ctx context.Context, s *facts) Result {
	if c.needs != nil {
		if why := c.needs(s); why != "" {
			return skipCheck("%s", why)
		}
	}
	return c.look(ctx, s)
}

// checkTime is how long a check may wait for the daemon, a server or another program. The daemon gives the servers that it asks 4 s, so
// that its answer can say which of them did not answer.
const checkTime = 5 * time.Second

// limited ends a check after checkTime.
func limited(look func(context.Context, *facts) Result) func(context.Context, *facts) Result {
	return func(ctx context.Context, s *facts) Result {
		ctx, stop := context.WithTimeout(ctx, checkTime)
		defer stop()
		r := look(ctx, s)
		// What the check has found because of the limit would not say that.
		if (r.State == Warn || r.State == Fail) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r = Result{State: Fail, Found: fmt.Sprintf("no answer within %s", checkTime), Repair: "try it again in a while: hob doctor; or look at hob service logs"}
		}
		return r
	}
}

// checks lists all checks: first the home and the machine, then what depends on them. To add a check, write its function and a line here; one
// that asks others is limited. go generate ./cmd/... then updates docs/doctor.md.
func checks() []check {
	open, answered := (*facts).unreadable, (*facts).unanswered
	return []check{
		{"home", "hob's folders are closed to others", "others on this machine could read what you and hob write", nil, checkHome},
		{"owner", "everything in hob's home belongs to you", "hob cannot write a file of another user, for example after sudo hob", open, checkOwner},
		{"root", "hob works as an ordinary user", "as root, a mistake of the model or of yours can change the whole machine", open, checkRoot},
		{"folders", "the folders that hob works in exist, and hob can write to them", "hob cannot keep files in a folder that is not there, or that it may not write to", open, checkFolders},
		{"files", "token, socket, databases and backups are closed to others", "anyone who can read them can read everything, or act as you", open, checkFiles},
		{"config", "the config can be read, and hob uses all of it", "hob does not use the parts of the config that are wrong", nil, checkConfig},
		{"roots", "the folders that you have opened to the tools exist", "tools cannot use a folder that is not there", open, checkRoots},
		{"secrets", "the keys of models can be read, and every file with a secret is closed to others", "a model without its key does not work, and others can use a key that they can read", open, limited(checkSecrets)},
		{"daemon", "hob runs, answers and makes progress", "nothing happens while hob does not run or makes no progress", nil, checkDaemon},
		{"version", "the hob that runs is this program", "a restart is needed before a new version does anything", answered, checkVersion},
		{"port", "the port of [web] listen is free for hob", "hob does not start if another program has its port", nil, checkPort},
		{"service", "hob is a service that starts by itself", "without it hob ends with its terminal, and does not come back after a restart", nil, limited(checkService)},
		{"program", "the service starts a program that exists, this one", "the service does not start, or runs another version than you upgraded", nil, limited(checkProgram)},
		{"services", "only one service of hob is installed", "two of them compete for the same bots, and each answers only half of the messages", nil, checkServices},
		{"database", "the database is whole", "it holds everything that hob knows", nil, checkDatabase},
		{"wal", "changes are merged into the database", "changes that wait take room and slow hob down", open, checkWAL},
		{"disk", "the disk has room", "on a full disk nothing can be stored, so nothing is accepted", nil, checkDisk},
		{"logs", "the log stays small", "it takes the room that messages need", open, checkLogs},
		{"clock", "the clock is right and the time zone is known", "jobs run by the clock, in your time zone", nil, checkClock},
		{"terminal", "the terminal can show what hob prints", "letters and signs are shown wrong", nil, checkTerminal},
		{"dns", "the names of the servers in the config are found", "hob cannot reach a server whose name is not found", open, limited(checkDNS)},
		{"model", "the models answer", "without its model hob understands plain commands only", answered, limited(checkModel)},
		{"price", "the price of each model in use is known", "hob cannot limit what a model costs, only how many tokens it uses", answered, limited(checkPrice)},
		{"budget", "today's budget is not used up", "no model is asked before the next day", answered, checkBudget},
		{"voice", "the server for voice notes answers", "hob cannot understand voice notes", answered, limited(checkVoice)},
		{"memory", "the memory can be searched", "hob does not find what you told it", answered, limited(checkMemory)},
		{"channels", "the channels can receive and send", "you cannot be reached, or cannot reach hob", answered, checkChannels},
		{"pairing", "each channel knows who you are", "hob does not answer you on a channel where it does not know you", answered, limited(checkPairing)},
		{"jobs", "the jobs can run, and their last runs worked", "a broken job never runs, and one that failed waits before it runs again", answered, limited(checkJobs)},
		{"gates", "the programs of gates are where the service finds them", "a job never runs if the command of its gate is missing", answered, limited(checkGates)},
		{"watches", "the watched folders exist", "a watch sees nothing in a folder that is not there", answered, limited(checkWatches)},
		{"inotify", "the kernel lets hob watch enough folders", "changes in the folders above the limit are seen late", answered, limited(checkInotify)},
		{"questions", "no question waits for you", "what hob wants to do waits until you have answered", answered, checkQuestions},
		{"failures", "nothing was given up within a day", "hob does not try again by itself what it has given up", answered, limited(checkFailures)},
		{"held", "no message and no input is held", "hob does not send a held message or run a held input until you decide", answered, checkHeld},
		{"outbox", "messages are sent without delay", "what hob says does not arrive", answered, limited(checkOutbox)},
		{"mcp", "MCP servers can be used, and you have accepted them", "hob cannot use the tools of a server that waits or fails", answered, limited(checkMCP)},
		{"accounts", "hob can sign in to your accounts", "hob cannot see what is in an account that it cannot use", answered, limited(checkAccounts)},
		{"skills", "the skills in the workspace are in use", "of a skill, hob uses only what you have accepted", answered, limited(checkSkills)},
		{"sandbox", "commands run in a sandbox", "without one, commands run with all your rights", nil, limited(checkSandbox)},
		{"backup", "the newest backup is recent and whole", "a damaged disk takes everything that was not copied", open, checkBackup},
		{"leftovers", "no files of an earlier run are left", "files that a crash left behind take room and mislead", open, checkLeftovers},
	}
}

// Command makes hob doctor. It checks from outside, with a running daemon and without one, and never
// opens a database that is in use. All facts are gathered first (gatherFacts), then each check judges them,
// then everything is printed.
func Command(a *cli.App, build Build) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong, and say how to fix it", Args: cli.None, Example: "  hob doctor\n  hob doctor --fix",
		Long: "Look at hob's home, config, service, database, models, channels, jobs, backups and more. The exit code is 1 when something fails. docs/doctor.md lists the checks.\n" +
			"--fix repairs what is safe to repair: permissions that are too wide, missing folders, the index of the memory, and files that a crash left behind.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := gatherFacts(cmd.Context(), a, build)
			if err != nil {
				return err
			}
			return printChecks(a, runChecks(cmd.Context(), s, fix))
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "repair what is safe to repair, and print each repair")
	return cmd
}

// runChecks runs all checks side by side. With fix it then applies the safe repairs in order and runs those checks again.
func runChecks(ctx context.Context, s *facts, fix bool) []Result {
	all := checks()
	list := make([]Result, len(all))
	g := sys.NewGroup(slog.Default(), nil)
	for i, c := range all {
		list[i] = Result{State: Fail, Found: "this check broke off", Repair: "report this as a bug of hob"}
		g.Once(c.name, func() error {
			list[i] = c.run(ctx, s)
			return nil
		})
	}
	g.Wait()
	for i, c := range all {
		r := list[i]
		if fix && len(r.fixes) > 0 {
			fixed, failed := applyFixes(r.fixes)
			// Look again: the result must say what is true now, not that a repair was tried.
			r = c.run(ctx, s)
			r.Fixed = fixed
			if failed != nil {
				r.Repair = joined(r.Repair, "; ", "--fix could not do it: "+failed.Error())
			}
		} else if len(r.fixes) > 0 {
			r.Repair = joined(r.Repair, ", or: ", "hob doctor --fix")
		}
		r.Name, r.Why = c.name, c.why
		list[i] = r
	}
	return list
}

// applyFixes applies repairs in order and stops at the first that fails.
func applyFixes(list []repair) (done []string, err error) {
	for _, f := range list {
		if err := f.do(); err != nil {
			return done, err
		}
		done = append(done, f.done)
	}
	return done, nil
}

// printChecks prints the results. One failed check makes the command fail.
func printChecks(a *cli.App, list []Result) error {
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
		// With --quiet only failures and repairs are printed.
		if !a.Quiet || r.State == Fail || len(r.Fixed) > 0 {
			a.Say("%s", r.text())
		}
	}
	if !a.Quiet {
		a.Say("%s: %d ok, %s, %d failed, %d not looked at", console.Plural(int64(len(list)), "check"), count[OK], console.Plural(count[Warn], "warning"), count[Fail], count[Skip])
	}
	if !doc.OK {
		// The results were printed above, so only the exit code is left to set.
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
	more("fix", r.Repair)
	for _, f := range r.Fixed {
		more("fixed", f)
	}
	return b.String()
}

// add records a problem and how to repair it ("" if the text says that already). The worst problem decides the state.
func (r *Result) add(s State, repair, format string, args ...any) {
	if r.State == "" || s == Fail {
		r.State = s
	}
	r.Found = joined(r.Found, "; ", fmt.Sprintf(format, args...))
	r.Repair = joined(r.Repair, "; ", repair)
}

// joined puts a separator between two texts, unless one is empty.
func joined(a, separator, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

// or returns the result, which is fine if no problem was added.
func (r *Result) or(fine string, args ...any) Result {
	if r.State == "" {
		r.State, r.Found = OK, fmt.Sprintf(fine, args...)
	}
	return *r
}

// skipCheck returns the result of a check that did not run, with the reason.
func skipCheck(format string, args ...any) Result {
	return Result{State: Skip, Found: fmt.Sprintf(format, args...)}
}
