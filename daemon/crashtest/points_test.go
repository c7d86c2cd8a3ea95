//go:build linux

package crashtest_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/sys/systest"
)

// How long a scenario may take to come to its point.
const reachTime = 90 * time.Second

// onlyBroken are the points that stand inside a deliberate fault: TestFaults passes them.
var onlyBroken = []string{"inbound.broken", "finish.between", "fire.between", "snapshot.between"}

// elsewhere begins the names of points that have tests of their own: no running hob passes those of a restore, of a whole backup or of an upgrade, only one on a
// platform that can edit those of a draft, only one with a voice note that of listening, only one that has sent a file those of the artifacts, only one
// with a long conversation those of a compaction, only one with an account at Google those of a mail, only one whose owner accepts a skill those of its copy,
// and only one that has something removed those of that.
var elsewhere = regexp.MustCompile(`^(restore|whole|upgrade|draft|voice|artifacts|compact|skill|gmail)\.|^database\.kept$|\.forgotten$`)

// afterCrash are the points that only a start passes that follows an unclean end, with where that end was; "" is anywhere.
var afterCrash = map[string]string{"orphans.ended": "", "edit.forward": "edit.renamed:5", "edit.recovered": "edit.renamed:5", "edit.cleared": "edit.renamed:5"}

// thorough is the number of random kills from which on a run also kills at later passings of the points.
const thorough = 500

// later passings of a point that are worth a kill of their own, beside the first.
var later = map[string][]int{
	"inbound.received": {2, 3, 4}, "inbound.committed": {2, 3, 4}, "turn.claimed": {3}, "spend.reserved": {2, 4}, "model.inflight": {2, 5}, "answer.complete": {2, 5},
	"answer.committed": {2, 4}, "tool.started": {2, 3}, "tool.effect": {2, 3, 4}, "tool.result": {2, 4}, "finish.before": {2, 4}, "finish.after": {3},
	"sending.committed": {2, 4}, "sending.written": {2, 4}, "sending.answered": {3}, "sending.sent": {3}, "between.parts": {2}, "fire.before": {2}, "fire.after": {2}, "gate.before": {2, 3}, "gate.judged": {2, 3}, "hook.before": {2}, "hook.after": {2},
	"edit.staged": {3, 5, 9}, "edit.journal": {2, 3}, "edit.renamed": {2, 4, 7, 8}, "edit.forward": {3, 4}, "edit.cleared": {2, 4},
}

// TestNamedPoints kills hob at each point that the code names, and once more at later passings of some.
func TestNamedPoints(t *testing.T) {
	t.Parallel()
	bin := binary(t, tested)
	points, _ := named(t)
	for _, name := range slices.Sorted(maps.Keys(points)) {
		if slices.Contains(onlyBroken, name) || elsewhere.MatchString(name) {
			continue
		}
		passings := []int{1}
		if name == "watch.before" || name == "watch.after" {
			passings = append(passings, 2) // the first is that of the first look, which tells nothing
		}
		if *kills >= thorough {
			passings = append(passings, later[name]...)
		}
		for _, n := range passings {
			t.Run(fmt.Sprintf("%s:%d", name, n), func(t *testing.T) {
				t.Parallel()
				if name == "exec.wrapped" {
					systest.Program(t, "bwrap")
				}
				r := newHarness(t, options{bin: bin, seed: *seed, guard: guardFor(name), senses: true})
				if name != "checkpoint" { // which waits for a pause in the writing
					r.jobs = []string{"tick-1", "words", "gated"}
				}
				r.everything()
				r.allTriggers(name)
				r.endAt(afterCrash, name)
				r.dieAt(fmt.Sprintf("%s:%d", name, n))
				r.recovers()
			})
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(later)), slices.Collect(maps.Keys(afterCrash)), onlyBroken) {
		if points[name] == nil {
			t.Errorf("the code has no point %s any more", name)
		}
	}
}

// endAt brings about the unclean end that a point needs, if it needs one.
func (r *harness) endAt(ends map[string]string, name string) {
	switch at, needed := ends[name]; {
	case needed && at != "":
		r.dieAt(at)
	case needed:
		r.up()
		r.kill()
	}
}

// guardFor chooses the mode in which a point is passed: approvals exist only where the permission rules ask.
func guardFor(name string) string {
	if strings.HasPrefix(name, "question.") || name == "tool.intent" {
		return "ask"
	}
	return "open"
}

// named finds the points and the deliberate faults in the sources, with where they stand.
func named(t *testing.T) (points, faults map[string][]string) {
	t.Helper()
	points, faults = map[string][]string{}, map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			kind, name := calls(n)
			at := set.Position(posOf(n)).String()
			switch kind {
			case "Point":
				points[name] = append(points[name], at)
			case "Broken":
				faults[name] = append(faults[name], at)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(points) == 0 {
		t.Fatal("no points found")
	}
	return points, faults
}

func posOf(n ast.Node) token.Pos {
	if n == nil {
		return token.NoPos
	}
	return n.Pos()
}

// calls reads fail.Point("name") and fail.Broken("name").
func calls(n ast.Node) (kind, name string) {
	c, ok := n.(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return "", ""
	}
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	pkg, ok := f.X.(*ast.Ident)
	text, ok2 := c.Args[0].(*ast.BasicLit)
	if !ok || !ok2 || pkg.Name != "fail" {
		return "", ""
	}
	name, err := strconv.Unquote(text.Value)
	if err != nil {
		return "", ""
	}
	return f.Sel.Name, name
}

// everything puts one input of each kind in the line, most of them in a session of its own, so that none joins another.
func (r *harness) everything() {
	r.write("please do plain-100")
	r.write("/status")
	r.write("please do long-101")
	for i, kind := range []string{
		"exec", "two", "plain", "chain", "ask", "file", "note", "cron", "stray", "big", "patch", "outside", "spawn", "spawn", "task", "plan", "todo", "bg", "page", "taint", "keep",
	} {
		r.say(fmt.Sprintf("post-%d", i), fmt.Sprintf("s%d", i), fmt.Sprintf("please do %s-%d", kind, 200+i))
	}
	r.say("post-joins", "s0", "please do file-300")
	r.say("post-steers", "s1", "please do exec-301")
	r.say("post-command", "", "/jobs")
	r.backup = 1
}

// allTriggers plans two webhook requests and, for the points that they can reach, file changes and jobs.
func (r *harness) allTriggers(point string) {
	r.queueWebhook("call-1", "plain-400")
	r.queueWebhook("call-2", "plain-401")
	group, _, _ := strings.Cut(point, ".")
	if !slices.Contains([]string{"watch", "fire", "gate", "finish", "recovery", "drain"}, group) {
		return
	}
	r.jobs = append(r.jobs, "mail", "caught")
	for i, how := range []string{"write", "over", "write", "rename", "write", "remove"} {
		name := []string{"a", "b", "c"}[i/2]
		r.senses.papers.plan(how, name, fmt.Sprintf("sheet-%d", i))
	}
}

// dieAt runs hob until it dies at a point, "name:n" for its nth passing. When everything is done and it lives, it is told to
// stop, because some points are on the way out.
func (r *harness) dieAt(point string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), reachTime)
	defer cancel()
	r.start("HOB_FAIL=" + point)
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		r.feed(ctx, r.proc.gone)
	}()
	quiet := func() bool { return ended(r.proc) || strings.HasPrefix(point, "drain:") && r.unsettled(ctx) == "" }
	if until(reachTime, quiet) && !ended(r.proc) {
		r.proc.signal(syscall.SIGTERM)
		r.proc.ended(stopTime)
	}
	cancel()
	<-fed
	if !ended(r.proc) {
		r.kill()
		r.t.Fatalf("nothing here comes to the point %s", point)
	}
	if !r.proc.killed() {
		r.t.Fatalf("hob did not die at %s: %v\n%s", point, r.proc.err, r.proc.said)
	}
	r.died()
	for _, b := range r.always(r.readRecords()) {
		r.t.Errorf("right after the kill at %s: %s", point, b)
	}
}

// recovers starts hob again, lets it finish, stops it, and checks.
func (r *harness) recovers(env ...string) {
	r.t.Helper()
	r.up(env...)
	if err := r.settle(); err != nil {
		r.t.Fatal(err)
	}
	r.stop()
	_, broken := r.check()
	for _, b := range broken {
		r.t.Error(b)
	}
}
