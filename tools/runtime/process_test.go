//go:build unix

package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/runtime"
)

// background starts a command in the background and returns its id.
func (b *bench) background(t testing.TB, command string) string {
	t.Helper()
	res, out := b.run(t, map[string]any{"command": command, "background": true})
	if res.IsError || out.ProcessID == "" || out.ExitCode != nil || !strings.Contains(res.Content, "process "+out.ProcessID) {
		t.Fatalf("%+v", res)
	}
	return out.ProcessID
}

// poll waits for output.
func (b *bench) poll(t testing.TB, id string, more ...any) (string, runtime.Process) {
	t.Helper()
	args := map[string]any{"action": "poll", "process_id": id, "wait": 60}
	for pair := range slices.Chunk(more, 2) {
		args[pair[0].(string)] = pair[1]
	}
	res, out := b.handle(t, args)
	if res.IsError || len(out.Processes) != 1 || out.Processes[0].ID != id {
		t.Fatalf("%+v", res)
	}
	return out.Output, out.Processes[0]
}

// A dialogue with a process: poll returns each output once, input arrives, and the end is reported once.
func TestBackground(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	b.call.ReplyTo = "chat:me"
	id := b.background(t, "echo ready; while read line; do echo got $line; done; echo over; exit 3")
	if text, p := b.poll(t, id); text != "ready\n" || p.State != "running" || p.ExitCode != nil || p.Unread != 0 || p.Bytes != 6 {
		t.Errorf("%q %+v", text, p)
	}
	if text, _ := b.poll(t, id, "wait", 0); text != "" {
		t.Errorf("old output came again: %q", text)
	}
	for _, word := range []string{"one", "two"} {
		if res, _ := b.handle(t, map[string]any{"action": "input", "process_id": id, "input": word + "\n"}); res.IsError {
			t.Fatal(res.Content)
		}
		if text, _ := b.poll(t, id); text != "got "+word+"\n" {
			t.Errorf("%q", text)
		}
	}
	b.inbox.none(t)
	if res, _ := b.handle(t, map[string]any{"action": "input", "process_id": id, "input": "\x04"}); res.IsError {
		t.Fatal(res.Content)
	}
	r := b.report(t)
	if r.Session != 1 || r.Key != "main" || r.Call != "t1_1" || r.Process != id || r.ReplyTo != "chat:me" || r.Trust != event.Owner || r.Foreign == "" {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Text, "exit code 3") || !strings.HasSuffix(r.Text, "\nover") || strings.Contains(r.Text, "got one") {
		t.Errorf("the report says %q; what was polled is not new", r.Text)
	}
	if text, p := b.poll(t, id); text != "over\n" || p.State != "ended" || *p.ExitCode != 3 || p.Why != "" {
		t.Errorf("%q %+v; the report came to the inbox, and poll has not shown it", text, p)
	}
	if text, p := b.poll(t, id); text != "" || p.Unread != 0 {
		t.Errorf("old output came again: %q", text)
	}
	b.call.Session = 0 // hob tool: it has seen nothing yet, and takes nothing away from others
	if text, p := b.poll(t, id); text != "ready\ngot one\ngot two\nover\n" || p.Unread != 0 {
		t.Errorf("%q %+v", text, p)
	}
	b.end()
	b.inbox.none(t)
}

func TestALongCommandGoesOnInTheBackground(t *testing.T) {
	b := newBench(t, runtime.Limits{Yield: 100 * time.Millisecond})
	fifo := filepath.Join(b.dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	res, out := b.run(t, sh("echo begun; cat go; echo done"))
	if res.IsError || out.ProcessID == "" || out.ExitCode != nil || out.Output != "begun\n" || !strings.HasPrefix(res.Content, "still running after 100ms: it runs in the background as process "+out.ProcessID) {
		t.Fatalf("%+v", res)
	}
	if cwd, exit := out.Ran(); cwd != b.dir || exit != nil {
		t.Errorf("%q %v", cwd, exit)
	}
	if err := os.WriteFile(fifo, []byte("gone\n"), 0); err != nil {
		t.Fatal(err)
	}
	if r := b.report(t); !strings.Contains(r.Text, "exit code 0") || !strings.HasSuffix(r.Text, "\ngone\ndone") {
		t.Errorf("%q", r.Text)
	}
}

// A command that ends in time never becomes a background process, however close it is.
func TestAShortCommandIsNotReported(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	if res, out := b.run(t, sh("echo x")); res.IsError || out.ProcessID != "" || code(out) != 0 {
		t.Errorf("%+v", res)
	}
	if res, out := b.handle(t, map[string]any{"action": "list"}); len(out.Processes) != 0 || !strings.Contains(res.Content, "nothing runs") {
		t.Errorf("%+v", res)
	}
	b.end()
	b.inbox.none(t)
}

func TestPollFiltersWholeLines(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	id := b.background(t, "echo a 1; echo b 2; printf 'a 3'; read x; echo ' more'; echo b 4; read x")
	if text, _ := b.poll(t, id, "filter", "^a"); text != "a 1\n" {
		t.Errorf("%q: a line that is not finished is left for later", text)
	}
	if res, _ := b.handle(t, map[string]any{"action": "input", "process_id": id, "input": "\n"}); res.IsError {
		t.Fatal(res.Content)
	}
	if text, _ := b.poll(t, id, "filter", "^a"); text != "a 3 more\n" {
		t.Errorf("%q", text)
	}
	if text, _ := b.poll(t, id, "filter", "never", "wait", 1); text != "" {
		t.Errorf("%q", text)
	}
	if text, _ := b.poll(t, id, "wait", 0); text != "" {
		t.Errorf("%q was passed over by the filter already", text)
	}
}

func TestPollShowsHeadAndTailOfMuch(t *testing.T) {
	b := newBench(t, runtime.Limits{Preview: 100, ArtifactBytes: 1 << 20})
	id := b.background(t, "seq 1000000; read x")
	all := 0
	for text, p := b.poll(t, id); ; text, p = b.poll(t, id) { // a long wait when one is missed
		if len(text) > 200 {
			t.Fatalf("%d bytes at once", len(text))
		}
		if all = int(p.Bytes); all == 6_888_896 && p.Unread == 0 { // the bytes of seq 1000000
			if !strings.HasSuffix(text, "\n1000000\n") {
				t.Errorf("%q", text)
			}
			break
		}
	}
	b.handle(t, map[string]any{"action": "input", "process_id": id, "input": "\n"})
	if r := b.report(t); !strings.Contains(r.Text, "the first 1024 KB of 6727 KB are kept: result_read a1") {
		t.Errorf("%q", r.Text)
	}
	if kept := b.artifactStore.kept[0]; len(kept) != 1<<20 || !strings.HasPrefix(string(kept), "1\n2\n3\n") {
		t.Errorf("%d bytes", len(kept))
	}
}

func TestSignals(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	id := b.background(t, "trap 'echo usr1' USR1; trap 'echo int; exit 7' INT; echo ready; while :; do sleep 0.05; done 2>/dev/null")
	b.poll(t, id)
	for _, name := range []string{"USR1", "sigusr1"} {
		if res, _ := b.handle(t, map[string]any{"action": "signal", "process_id": id, "signal": name}); res.IsError {
			t.Fatal(res.Content)
		}
		if text, _ := b.poll(t, id); text != "usr1\n" {
			t.Errorf("%s: %q", name, text)
		}
	}
	b.handle(t, map[string]any{"action": "signal", "process_id": id, "signal": "INT"})
	if r := b.report(t); !strings.Contains(r.Text, "exit code 7") {
		t.Errorf("%q", r.Text)
	}
	if res, _ := b.handle(t, map[string]any{"action": "signal", "process_id": id, "signal": "INT"}); res.Code != tools.Conflict {
		t.Errorf("a process that has ended: %+v", res)
	}
}

// kill is TERM, a second, KILL. It answers with the end, which is not reported to the same session again.
func TestKill(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	gentle := b.background(t, "trap 'echo bye; exit 5' TERM; echo pid=$$; while :; do sleep 0.05; done 2>/dev/null")
	deaf := b.background(t, "trap '' TERM HUP INT; echo pid=$$; while :; do sleep 100; done")
	for id, want := range map[string]struct {
		code     int
		text     string
		least    time.Duration
		reported bool
	}{gentle: {5, "bye\n", 0, false}, deaf: {137, "pid=", time.Second, true}} {
		b.call.Session = 1
		text, _ := b.poll(t, id)
		if want.reported {
			b.call.Session = 2 // another one ends it, which has seen nothing of it
		}
		start := time.Now()
		res, out := b.handle(t, map[string]any{"action": "kill", "process_id": id})
		if took := time.Since(start); res.IsError || *out.Processes[0].ExitCode != want.code || !strings.HasPrefix(out.Output, want.text) || took < want.least || out.Processes[0].Why != "it was killed" {
			t.Errorf("after %v: %+v", took, res)
		}
		for _, pid := range pids(t, text) {
			gone(t, pid)
		}
		if want.reported {
			if r := b.report(t); r.Process != id || !strings.Contains(r.Text, "it was killed") {
				t.Errorf("%+v", r)
			}
		}
	}
	b.end()
	b.inbox.none(t)
}

func TestAtMostTenProcesses(t *testing.T) {
	b := newBench(t, runtime.Limits{Yield: 10 * time.Millisecond})
	ids := map[string]bool{}
	for range 10 {
		ids[b.background(t, "read x")] = true
	}
	if len(ids) != 10 {
		t.Errorf("%d ids for 10 processes", len(ids))
	}
	res, _ := b.run(t, map[string]any{"command": "touch ran", "background": true})
	if res.Code != tools.RateLimited || !strings.Contains(res.Content, "10 processes") {
		t.Errorf("%+v", res)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the eleventh ran")
	}
	if res, out := b.run(t, sh("sleep 0.2; echo waited")); res.IsError || code(out) != 0 || !strings.Contains(res.Content, "it was waited for") {
		t.Errorf("a foreground command when there is no room: %+v", res)
	}
	if _, out := b.handle(t, map[string]any{"action": "list"}); len(out.Processes) != 10 {
		t.Errorf("%d are listed", len(out.Processes))
	}
	for id := range ids {
		b.handle(t, map[string]any{"action": "kill", "process_id": id})
		break
	}
	b.background(t, "true")
}

func TestABackgroundProcessHasAnHour(t *testing.T) {
	b := newBench(t, runtime.Limits{Life: 200 * time.Millisecond, Least: 100 * time.Millisecond, Grace: 50 * time.Millisecond})
	b.background(t, "read x")
	if r := b.report(t); !strings.Contains(r.Text, "it ran longer than 200ms") {
		t.Errorf("%q", r.Text)
	}
	b.run(t, map[string]any{"command": "read x", "background": true, "timeout": 0}) // raised to Least
	if r := b.report(t); !strings.Contains(r.Text, "it ran longer than 100ms") {
		t.Errorf("%q", r.Text)
	}
}

// When hob ends, what runs in the background ends first, and is reported: the conversation goes on some day.
func TestNothingOutlivesHob(t *testing.T) {
	b := newBench(t, runtime.Limits{Grace: 50 * time.Millisecond})
	var list []int
	for name, command := range leavers() {
		if goruntime.GOOS != "linux" && strings.Contains(name, "setsid") {
			continue
		}
		if len(list) > 0 && strings.Contains(name, "many") {
			continue
		}
		text, _ := b.poll(t, b.background(t, "("+command+"); echo all; read x"), "filter", "pid=|all")
		list = append(list, pids(t, text)...)
		if len(list) > 7 {
			break
		}
	}
	b.end()
	if r := b.report(t); !strings.Contains(r.Text, "it was stopped") {
		t.Errorf("%q", r.Text)
	}
	for _, pid := range list {
		gone(t, pid)
	}
}

func TestHandlingIsChecked(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	id := b.background(t, "read x")
	for _, c := range []struct {
		args map[string]any
		code tools.Code
		text string
	}{
		{map[string]any{"action": "stop"}, tools.Validation, "action"},
		{map[string]any{"action": "poll"}, tools.Validation, "process_id: the action poll needs it"},
		{map[string]any{"action": "poll", "process_id": "p1"}, tools.NotFound, "there is: " + id},
		{map[string]any{"action": "poll", "process_id": id, "filter": "("}, tools.Validation, "filter: "},
		{map[string]any{"action": "poll", "process_id": id, "wait": 601}, tools.Validation, "wait"},
		{map[string]any{"action": "input", "process_id": id}, tools.Validation, "needs a text"},
		{map[string]any{"action": "signal", "process_id": id, "signal": "NOSUCH"}, tools.Validation, "TERM, INT, HUP"},
		{map[string]any{"action": "signal", "process_id": id}, tools.Validation, "there is no signal"},
	} {
		if res, _ := b.handle(t, c.args); res.Code != c.code || !strings.Contains(res.Content, c.text) {
			t.Errorf("%v: %q, want %s", c.args, res.Content, c.text)
		}
	}
}

// The owner sees all processes, others those of their own session.
func TestProcessesOfOthersAreNotSeen(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	id := b.background(t, "read x")
	for _, c := range []struct {
		trust   event.Trust
		session int64
		seen    int
	}{{event.Owner, 1, 1}, {event.Owner, 2, 1}, {event.Known, 2, 0}, {event.Known, 0, 0}, {event.Known, 1, 1}} {
		b.call.Trust, b.call.Session = c.trust, c.session
		if _, out := b.handle(t, map[string]any{"action": "list"}); len(out.Processes) != c.seen {
			t.Errorf("%s in session %d sees %d", c.trust, c.session, len(out.Processes))
		}
		if res, _ := b.handle(t, map[string]any{"action": "status", "process_id": id}); res.IsError != (c.seen == 0) {
			t.Errorf("%s in session %d: %+v", c.trust, c.session, res)
		}
	}
}

// What looks is free; what acts on a process is judged as the command was.
func TestProcessIntents(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	id := b.background(t, "read x")
	for action, want := range map[string]struct {
		effect tools.Effect
		scopes string
	}{
		"list": {tools.Read, "[]"}, "status": {tools.Read, "[]"}, "poll": {tools.Read, "[]"},
		"input": {tools.Once, "[exec net]"}, "signal": {tools.Once, "[exec net]"}, "kill": {tools.Once, "[exec net]"},
	} {
		args, err := json.Marshal(map[string]any{"action": action, "process_id": id, "input": "x", "signal": "INT"})
		if err != nil {
			t.Fatal(err)
		}
		call := b.call
		call.Args = args
		i, err := b.process.Intent(t.Context(), call)
		if err != nil || i.Effect != want.effect || fmt.Sprint(i.Scopes) != want.scopes || i.Sandboxed || i.Foreign != "output of a command outside the sandbox" || i.Summary == "" {
			t.Errorf("%s: %v %+v", action, err, i)
		}
	}
}

func TestTerminal(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	res, out := b.run(t, map[string]any{"command": `test -t 0 && test -t 1 && echo "terminal $TERM"; stty size; printf '\033[31mred\033[0m\033]0;title\007 10%%\r100%%\n'; (echo x > /dev/tty) && echo own`, "pty": true})
	if res.IsError || out.Output != "terminal xterm-256color\n40 120\n100%\nx\nown\n" {
		t.Errorf("%q", out.Output)
	}
	res, out = b.run(t, map[string]any{"command": "stty -echo; echo ready; read -p 'name? ' n; echo hello $n; sleep 100", "pty": true, "background": true})
	if res.IsError {
		t.Fatal(res.Content)
	}
	for text := ""; !strings.Contains(text, "name? "); {
		more, _ := b.poll(t, out.ProcessID)
		text += more
	}
	b.handle(t, map[string]any{"action": "input", "process_id": out.ProcessID, "input": "sam\n"})
	if text, _ := b.poll(t, out.ProcessID); !strings.Contains(text, "hello sam") {
		t.Errorf("%q", text)
	}
	b.handle(t, map[string]any{"action": "input", "process_id": out.ProcessID, "input": "\x03"}) // Ctrl-C
	if r := b.report(t); !strings.Contains(r.Text, "exit code 130") {
		t.Errorf("%q", r.Text)
	}
}

// failing takes a report at the third try.
type failing struct {
	inbox
	tries *int
}

func (f failing) Report(ctx context.Context, r runtime.Report) error {
	if *f.tries++; *f.tries < 3 {
		return errors.New("the disk is busy")
	}
	return f.inbox.Report(ctx, r)
}

func TestAReportIsTriedAgain(t *testing.T) {
	f := failing{inbox{make(chan runtime.Report, 10)}, new(int)}
	b := newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) { d.Registry = runtime.NewRegistry(f) })
	b.inbox = f.inbox
	b.background(t, "true")
	if b.report(t); *f.tries != 3 {
		t.Errorf("%d tries", *f.tries)
	}
}
