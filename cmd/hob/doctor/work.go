package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/scheduler"
)

// eachRow judges the rows of a list, and returns how many there are. The command shows the list, for the case that it cannot be read.
func eachRow[R any](ctx context.Context, s *facts, l api.List[R], f client.Filter, command string, judge func(r *Result, row R)) (r Result, n int) {
	rows, err := client.List(ctx, s.client, l, f)
	if err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: command}, 0
	}
	for _, row := range rows {
		judge(&r, row)
	}
	return r, len(rows)
}

// checkPrice looks for models in use whose price nobody knows.
func checkPrice(ctx context.Context, s *facts) (r Result) {
	roster, err := client.Show(ctx, s.client, api.ShowRoster, "")
	if err != nil {
		return Result{State: Fail, Found: err.Error(), Repair: "hob model list"}
	}
	n := 0
	for _, m := range roster.Models {
		if m.Order == 0 || m.Local || m.Bills {
			continue
		}
		n++
		if !m.Price.Known() {
			r.add(Warn, "write price = { input = 3.0, output = 15.0 } with its prices into its section of config.toml", "the price of %s (%s) is not known", m.Name, m.Model)
		}
	}
	return r.or("%s with a known price", console.Plural(n, "model"))
}

// checkBudget compares what was spent today with the caps. A cap of 0 is the owner's wish.
func checkBudget(_ context.Context, s *facts) (r Result) {
	b := s.status.Budget
	if b.PerDayMicros > 0 && b.Used.Micros()+b.ReservedMicros >= b.PerDayMicros {
		r.add(Warn, "hob budget show, then hob budget set --per-day AMOUNT", "today's budget is used up")
	}
	if b.PerDayTokens > 0 && b.UsedTokens+b.ReservedTokens >= b.PerDayTokens {
		r.add(Warn, "hob budget show, then hob budget set --tokens-per-day NUMBER", "today's tokens for models without a known price are used up")
	}
	return r.or("there is something left for today")
}

// checkPairing looks for channels on which nobody is the owner.
func checkPairing(ctx context.Context, s *facts) Result {
	r, _ := eachRow(ctx, s, api.Channels, client.Filter{}, "hob channels list", func(r *Result, c api.Channel) {
		switch {
		case !c.Pairs || len(c.Owner) > 0 || c.Unfit:
		case len(c.FormerOwners) > 0:
			r.add(Warn, "hob pairing start "+c.Name, "hob has another account on %s than when you were paired", c.Name)
		default:
			r.add(Warn, "hob pairing start "+c.Name, "nobody is paired on %s", c.Name)
		}
	})
	return r.or("hob knows you on all channels")
}

// checkGates looks for the programs that gates run. A service has another PATH than a terminal.
func checkGates(ctx context.Context, s *facts) Result {
	if runtime.GOOS == "windows" { // programs are found by other rules there
		return skipCheck("commands of gates need a sandbox, which this system does not have")
	}
	path, from, n := "", "", 0
	r, _ := eachRow(ctx, s, api.Jobs, client.Filter{Limit: nextJobs}, "hob cron list", func(r *Result, j api.Job) {
		// The daemon has accepted the gate; only its command matters here.
		g, err := scheduler.ParseGate(j.Gate)
		word := g.Program()
		if err != nil || word == "" {
			return
		}
		if n++; n == 1 {
			path, from = s.path(ctx)
		}
		if !s.findable(word, path) {
			r.add(Warn, fmt.Sprintf("install %s, or write its whole path: hob cron update %s --gate …", word, j.Name), "%s: the program %s of its gate is not in the PATH of %s", j.Name, word, from)
		}
	})
	return r.or("%s with a command that is there", console.Plural(n, "gate"))
}

// path returns the PATH in which commands are looked for, and whose it is: that of the service's process, if it can be read, else of this terminal.
func (s *facts) path(ctx context.Context) (path, from string) {
	if st, err := s.service(ctx); err == nil && st.PID > 0 {
		text, err := os.ReadFile(filepath.Join(s.proc, strconv.Itoa(st.PID), "environ")) // proc_pid_environ(5): pairs that end with NUL
		for pair := range strings.SplitSeq(string(text), "\x00") {
			if value, ok := strings.CutPrefix(pair, "PATH="); ok && err == nil {
				return value, "the service"
			}
		}
	}
	return s.env("PATH"), "this terminal"
}

// findable reports whether a program is found as a shell would find it: with a slash it is a path, relative to the workspace.
func (s *facts) findable(word, path string) bool {
	dirs := filepath.SplitList(path)
	if strings.HasPrefix(word, "~") {
		word = s.filePath(word)
	}
	if strings.Contains(word, "/") {
		dirs = []string{filepath.Join(s.home, "workspace")}
	}
	for _, dir := range dirs {
		if filepath.IsAbs(word) {
			dir = ""
		}
		if info, err := os.Stat(filepath.Join(dir, word)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// checkWatches looks for watches that cannot run, and for folders that are gone.
func checkWatches(ctx context.Context, s *facts) Result {
	r, n := eachRow(ctx, s, api.Watches, client.Filter{Limit: 1000}, "hob watch list", func(r *Result, w api.Watch) {
		if w.Paused {
			return
		}
		if w.Broken != "" {
			r.add(Fail, fmt.Sprintf("hob watch show %s, or hob watch rm %s", w.Name, w.Name), "%s is broken: %s", w.Name, w.Broken)
		}
		for _, path := range w.Paths {
			// A glob may match something later.
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(path, "*?[{") {
				r.add(Warn, fmt.Sprintf("make it, or hob watch rm %s", w.Name), "%s watches %s, which is not there", w.Name, path)
			}
		}
	})
	return r.or("watches that work: %d", n)
}

// fewWatches is a limit that one large folder exceeds: each subfolder takes one (inotify(7)).
const fewWatches = 65536

// checkInotify compares the kernel's limit with what watches usually need.
func checkInotify(ctx context.Context, s *facts) Result {
	text, err := os.ReadFile(filepath.Join(s.proc, "sys", "fs", "inotify", "max_user_watches"))
	if err != nil {
		return skipCheck("this system has no such limit")
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return Result{State: Fail, Found: "max_user_watches is not a number: " + err.Error()}
	}
	r, _ := eachRow(ctx, s, api.Watches, client.Filter{Limit: 1}, "hob watch list", func(r *Result, _ api.Watch) {
		if most < fewWatches {
			r.add(Warn, "echo fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/90-inotify.conf, then: sudo sysctl --system", "all programs together can watch %d folders", most)
		}
	})
	return r.or("all programs together can watch %d folders", most)
}

// checkQuestions counts the open questions.
func checkQuestions(_ context.Context, s *facts) (r Result) {
	if n := s.status.Questions; n > 0 {
		r.add(Warn, "hob approvals list", "questions that wait for your answer: %d", n)
	}
	return r.or("nothing waits for you")
}

// checkHeld counts the held messages and inputs.
func checkHeld(ctx context.Context, s *facts) Result {
	r, n := eachRow(ctx, s, api.Inbox, client.Filter{State: "held", Limit: 1000}, "hob inbox list", func(*Result, api.InboxRow) {})
	if n > 0 {
		r.add(Warn, "hob inbox list --state held, then hob inbox retry SEQ or hob inbox drop SEQ", "held inputs: %d", n)
	}
	if n := s.status.Outbox.Held; n > 0 {
		r.add(Warn, "hob outbox list --state held, then hob outbox retry ID or hob outbox drop ID", "held messages: %d", n)
	}
	return r.or("no message is held")
}

// slowMessage is the age of an unsent message that something else than its turn holds back.
const slowMessage = time.Hour

// checkOutbox looks for messages that should have gone out.
func checkOutbox(ctx context.Context, s *facts) Result {
	old := 0
	r, n := eachRow(ctx, s, api.Outbox, client.Filter{State: "ready", Limit: 1000}, "hob outbox list", func(_ *Result, m api.OutboxRow) {
		if m.Created.Before(s.now().Add(-slowMessage)) && !m.NotBefore.After(s.now()) {
			old++
		}
	})
	if old > 0 {
		r.add(Warn, "hob channels list, then hob outbox list --state ready", "messages that could not be sent for more than an hour: %d", old)
	}
	return r.or("%s on the way", console.Plural(n, "message"))
}

// checkMCP looks for MCP servers that fail, or that the owner has not accepted.
func checkMCP(ctx context.Context, s *facts) Result {
	r, n := eachRow(ctx, s, api.MCPServers, client.Filter{}, "hob mcp list", func(r *Result, m api.MCPServer) {
		switch {
		case slices.Contains([]string{"new", "asked", "changed"}, m.State):
			r.add(Warn, "hob mcp accept "+m.Name, "%s waits until you accept its tools", m.Name)
		case m.Problem != "":
			r.add(Fail, "hob mcp test "+m.Name, "%s: %s", m.Name, m.Problem)
		}
	})
	return r.or("%s", console.Plural(n, "server"))
}

// checkAccounts looks for accounts that cannot be used, for example because a password has expired.
func checkAccounts(ctx context.Context, s *facts) Result {
	r, n := eachRow(ctx, s, api.LinkedAccounts, client.Filter{}, "hob account list", func(r *Result, a api.LinkedAccount) {
		if a.Problem != "" {
			r.add(Fail, "hob account test "+a.Name, "%s: %s", a.Name, a.Problem)
		}
	})
	return r.or("%s", console.Plural(n, "account"))
}

// checkSkills looks for skills that are broken, and for those that the owner has not accepted.
func checkSkills(ctx context.Context, s *facts) Result {
	r, n := eachRow(ctx, s, api.Skills, client.Filter{}, "hob skills list", func(r *Result, k api.Skill) {
		switch {
		case k.Problem != "":
			r.add(Warn, "hob skills check "+k.Name, "%s: %s", k.Name, k.Problem)
		case k.State == "changed":
			r.add(Warn, fmt.Sprintf("read it, then: hob skills trust %s", k.Name), "%s has changed: the copy that you accepted stays in use", k.Name)
		case k.State == "new", k.State == "asked":
			r.add(Warn, fmt.Sprintf("read it, then: hob skills trust %s", k.Name), "%s is not accepted", k.Name)
		}
	})
	return r.or("%s", console.Plural(n, "skill"))
}
