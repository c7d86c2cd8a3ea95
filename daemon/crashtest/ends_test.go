//go:build linux

package crashtest_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// TestDeadLetter: a turn that is in flight at three unclean ends is given up, and the owner hears of it; hob goes on.
func TestDeadLetter(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, tested), attempts: 3, safeAfter: 3})
	r.write("please do plain-1")
	for range 3 {
		if !r.dies("HOB_FAIL=model.inflight") {
			t.Fatal("hob did not die while the model was asked")
		}
	}
	r.up()
	r.say("post-1", "", "please do plain-2")
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	sum, broken := r.check()
	for _, b := range broken {
		t.Error(b)
	}
	if sum.dead != 1 {
		t.Errorf("%d dead letters, want 1", sum.dead)
	}
	if n := r.inboxCount("I gave up on"); n != 1 {
		t.Errorf("the owner was told %d times", n)
	}
}

// inboxCount counts the messages to the owner that contain a text.
func (r *harness) inboxCount(text string) (n int) {
	for _, m := range r.world.ntfy.Received() {
		if strings.Contains(m.Message, text) {
			n++
		}
	}
	return n
}

// TestSafeMode: three unclean ends without a turn in flight begin safe mode. The owner is still served, jobs are not;
// one command ends it.
func TestSafeMode(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release), attempts: 3, safeAfter: 3, jobs: []string{"words"}})
	for range 3 {
		r.up()
		r.kill()
	}
	r.up()
	ctx := t.Context()
	c, err := r.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if on, why := safeMode(t, c); !on || !strings.Contains(why, "3 times") {
		t.Fatalf("safe mode: %v, %s", on, why)
	}
	r.say("post-1", "", "please do exec-1")
	r.offer(ctx, c)
	if !until(startTime, func() bool { return doneTurns(c) == 1 }) {
		t.Fatalf("the owner is not served in safe mode\n%s", r.proc.said)
	}
	if raw, err := os.ReadFile(filepath.Join(r.home, "workspace", "once.txt")); err == nil {
		t.Errorf("a shell ran in safe mode: %s", raw)
	}
	if fires, err := client.List(ctx, c, api.Fires, client.Filter{}); err != nil || len(fires) > 0 {
		t.Errorf("a job fired in safe mode: %v %v", fires, err)
	}
	if code, out, errs := run(t, r.bin, r.home, "safe-mode", "off"); code != 0 {
		t.Fatalf("safe-mode off: exit %d\n%s%s", code, out, errs)
	}
	if on, why := safeMode(t, c); on {
		t.Errorf("safe mode is still on: %s", why)
	}
	if !until(startTime, func() bool { return r.inboxCount("the words of a reminder") > 0 }) {
		t.Errorf("no job fires after safe mode\n%s", r.proc.said)
	}
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	if n := r.inboxCount("Safe mode is on"); n != 1 {
		t.Errorf("the owner was told of safe mode %d times", n)
	}
	r.stop()
}

func safeMode(t *testing.T, c *client.Client) (on bool, why string) {
	t.Helper()
	s, err := client.Show(t.Context(), c, api.ShowStatus, "")
	if err != nil {
		t.Fatal(err)
	}
	return s.SafeMode.On, s.SafeMode.Why
}

func doneTurns(c *client.Client) int {
	turns, err := client.List(context.Background(), c, api.Turns, client.Filter{State: "done"})
	if err != nil {
		return 0
	}
	return len(turns)
}

// refusal is a start that must fail: exit code 1, one sentence and a hint, no stack trace.
func refusal(t *testing.T, bin, home, want string) {
	t.Helper()
	p, err := launch(bin, home)
	if err != nil {
		t.Fatal(err)
	}
	if !p.ended(startTime) {
		p.signal(syscall.SIGKILL)
		<-p.gone
		t.Fatalf("hob runs, although it should say: %s\n%s", want, p.said)
	}
	said := p.said.String()
	if code := p.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1\n%s", code, said)
	}
	var sentences []string
	for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
		if !strings.HasPrefix(line, "time=") {
			sentences = append(sentences, line)
		}
	}
	if len(sentences) == 0 || len(sentences) > 2 || !strings.HasPrefix(sentences[0], "hob: ") || !strings.Contains(said, want) {
		t.Errorf("want one sentence with a hint, about %q; got:\n%s", want, said)
	}
	if strings.Contains(said, "goroutine ") {
		t.Errorf("a stack trace:\n%s", said)
	}
}

func TestSecondInstance(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release)})
	r.up()
	refusal(t, r.bin, r.home, "already running")
	r.say("post-1", "", "please do plain-1") // the first one does not mind
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
}

// TestStartAfterKill: a start right after a kill does not report that hob already runs.
func TestStartAfterKill(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release)})
	for range 20 {
		r.up()
		r.kill()
	}
}

func TestDamagedDatabase(t *testing.T) {
	bin := binary(t, release)
	for name, spoil := range map[string]func([]byte) []byte{
		"no database":    func([]byte) []byte { return bytes.Repeat([]byte("this is no database. "), 1000) },
		"a page is gone": func(b []byte) []byte { clear(b[4096 : 4096*3]); return b },
		"cut short":      func(b []byte) []byte { return b[:len(b)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t, options{bin: bin})
			r.up()
			r.stop()
			path := filepath.Join(r.home, "state", "hob.db")
			onStopped(t, r.home, "PRAGMA wal_checkpoint(TRUNCATE)") // all of it into the one file
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			spoilt := spoil(b)
			if err := os.WriteFile(path, spoilt, 0o600); err != nil {
				t.Fatal(err)
			}
			refusal(t, bin, r.home, "damaged")
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, spoilt) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		})
	}
}

func TestNewerDatabase(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release)})
	r.up()
	r.stop()
	onStopped(t, r.home, "PRAGMA user_version = 999")
	refusal(t, r.bin, r.home, "newer hob")
}

// onStopped changes the database of a hob that does not run.
func onStopped(t *testing.T, home, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "state", "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// smallDisk mounts a file system of its own for a home, where that is allowed.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes)); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestReadOnlyHome(t *testing.T) {
	bin := binary(t, release)
	dir := smallDisk(t, 1)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("no right to make a disk read-only: %v", err)
	}
	refusal(t, bin, filepath.Join(dir, "home"), "cannot be written")
	refusal(t, bin, dir, "cannot be written")
}

// TestFullDisk: what cannot be stored is not acknowledged; when there is room again, hob goes on without a restart.
func TestFullDisk(t *testing.T) {
	bin := binary(t, release)
	r := newHarness(t, options{bin: bin})
	home := filepath.Join(smallDisk(t, 8), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(r.home, "config.toml"), filepath.Join(home, "config.toml")); err != nil {
		t.Fatal(err)
	}
	r.home = home
	r.up()
	ctx := t.Context()
	c, err := r.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(filepath.Dir(home), "filler")
	refused := 0
	for i := range 60 {
		if i == 5 {
			fill(t, filler)
		}
		p := r.say(fmt.Sprintf("post-%d", i), "", fmt.Sprintf("please do plain-%d %s", i, strings.Repeat("and more ", 200)))
		receipt, err := c.Post(ctx, p.Message)
		var problem *client.Problem
		switch {
		case err == nil:
			r.took(p, receipt)
		case errors.As(err, &problem) && problem.Status == 503 && strings.Contains(problem.Detail, "full"):
			refused++
		default:
			t.Fatalf("a full disk is answered with %v", err)
		}
	}
	if refused == 0 {
		t.Fatal("the disk was never full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	_, broken := r.check()
	for _, b := range broken {
		t.Error(b)
	}
}

// fill takes all the room that is left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size >= 512; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTwoQuestions: two turns of one conversation wait for approvals; the first one ends while the second one still waits.
func TestTwoQuestions(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release), guard: "ask"})
	r.up()
	ctx := t.Context()
	c, err := r.dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var open []api.Question
	asked := func() int {
		if open, err = client.List(ctx, c, api.Questions, client.Filter{State: "open"}); err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	for i := 1; i <= 2; i++ {
		p := r.say(fmt.Sprintf("post-%d", i), "s1", fmt.Sprintf("please do outside-%d", i))
		receipt, err := c.Post(ctx, p.Message)
		if err != nil {
			t.Fatal(err)
		}
		r.took(p, receipt)
		if !until(startTime, func() bool { return asked() == i }) {
			t.Fatalf("question %d is not asked\n%s", i, r.proc.said)
		}
	}
	if _, err := client.Do(ctx, c, api.ApproveQuestion, open[1].Code, api.Approve{}); err != nil { // the newest comes first in a list
		t.Fatal(err)
	}
	if !until(startTime, func() bool { return doneTurns(c) == 1 }) {
		t.Errorf("the turn whose question is answered does not end\n%s", r.proc.said)
	}
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	_, broken := r.check()
	for _, b := range broken {
		t.Error(b)
	}
}

// TestFirstStart: what was written to the owner's topic while hob was being set up is not lost by a crash of the first start.
func TestFirstStart(t *testing.T) {
	bin := binary(t, tested)
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newHarness(t, options{bin: bin})
			r.world.clock -= 300 // seconds
			r.write("please do plain-1")
			r.write("please do plain-2")
			if !r.dies(fmt.Sprintf("HOB_FAIL=inbound.committed:%d", n)) {
				t.Fatalf("hob did not die")
			}
			r.recovers()
		})
	}
}

// TestStopWhileWorking: SIGTERM in the middle of a command ends the command and hob, cleanly; the next start goes on.
func TestStopWhileWorking(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release)})
	r.up()
	c, err := r.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.say("post-1", "", "please do nap-1")
	r.offer(t.Context(), c)
	r.works()
	r.stop()
	if left := children(r.home); len(left) > 0 {
		t.Errorf("I10 after a stop, %d processes live", len(left))
	}
	if rows := r.readRecords().rows("SELECT clean FROM boots ORDER BY epoch DESC LIMIT 1"); rows[0][0] != "1" {
		t.Error("the stop was not clean")
	}
	r.recovers()
}

// TestReady: the ready line comes within a second, on a home that exists. The best of some starts counts: others use this machine too.
func TestReady(t *testing.T) {
	r := newHarness(t, options{bin: binary(t, release)})
	best := time.Hour
	for range 5 {
		r.up()
		var ms int
		if _, err := fmt.Sscanf(r.proc.line, "hob ready in %d ms", &ms); err != nil {
			t.Fatalf("%q: %v", r.proc.line, err)
		}
		best = min(best, time.Duration(ms)*time.Millisecond)
		r.stop()
	}
	t.Logf("ready in %s", best)
	if best >= time.Second {
		t.Errorf("ready after %s, want less than a second", best)
	}
}
