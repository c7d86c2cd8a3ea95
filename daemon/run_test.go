package daemon_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/mcp/mcptest"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/scheduler"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	if code, asked := daemon.RunHelper(os.Args[1:]); asked {
		os.Exit(code)
	}
	if err := flag.Set("test.parallel", "8"); err != nil { // parallel tests wait most of the time; the command line counts all the same
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// patience is how long a test waits for something that must happen. A machine that is busy with other tests, and the race detector, take most of it.
const patience = 2 * time.Minute

// running is a daemon in this process.
type running struct {
	t      testing.TB
	home   string
	ready  daemon.Ready
	client *client.Client
	stop   func() error // ends it and returns what Run returned
}

// executable is the test binary, which enters sandboxes as hob's own does.
func executable(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t testing.TB, home string, change ...func(*daemon.Options)) *running {
	t.Helper()
	storetest.Prepare(t, filepath.Join(home, "state"))
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, home: home}
	ready, ended := make(chan daemon.Ready, 1), make(chan error, 1)
	go func() {
		opt := daemon.Options{
			Home: home, Listen: "127.0.0.1:0", Version: "test", Self: executable(t), Log: slog.New(slog.DiscardHandler), Ready: func(r daemon.Ready) { ready <- r },
		}
		for _, f := range change {
			f(&opt)
		}
		ended <- daemon.Run(ctx, opt)
	}()
	over := false
	r.stop = func() error {
		if over {
			return nil
		}
		over = true
		cancel()
		return <-ended
	}
	select {
	case r.ready = <-ready:
	case err := <-ended:
		cancel()
		t.Fatalf("run: %v", err)
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	c, err := client.Find(t.Context(), home, false)
	if err != nil {
		t.Fatalf("find: %v", err)
	}
	r.client = c
	return r
}

// What fails because hob is stopping is no error: at each moment after the start, a stop logs none.
func TestStoppedWithoutErrors(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[jobs.tea]\nschedule = \"@daily\"\nprompt = \"make tea\"\n[jobs.broken]\nschedule = \"nonsense\"\nprompt = \"no\"\n")
	for i := range 40 {
		var logged logText
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError}))
		ctx, stop := context.WithCancel(t.Context())
		err := daemon.Run(ctx, daemon.Options{
			Home: home, Listen: "127.0.0.1:0", Version: "test", Self: executable(t), Log: log, NewDatabase: i == 0,
			Ready: func(daemon.Ready) { time.AfterFunc(time.Duration(i)*250*time.Microsecond, stop) },
		})
		stop()
		if err != nil || logged.all.Len() > 0 {
			t.Fatalf("stop %d: %v, logged %s", i, err, logged.all.String())
		}
	}
}

// say posts a message and returns the answer's text.
func (r *running) say(text string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	receipt, err := r.client.Post(ctx, client.Message{Text: text})
	if err != nil {
		r.t.Fatalf("post %q: %v", text, err)
	}
	return r.wait(receipt.Event, func(e *event.Event, turn int64) bool {
		return e.Type == "turn.finished" && e.Turn == turn || e.Type == "command.done" && e.Inbox == receipt.Inbox
	}, receipt.Inbox)
}

// wait follows the events after a seq until one fits, and returns its text.
func (r *running) wait(after int64, fits func(e *event.Event, turn int64) bool, inbox int64) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	found, text, turn := errors.New("found"), "", int64(-1)
	err := r.client.Follow(ctx, after-1, true, func(f client.Frame) error {
		if f.Event == nil {
			return nil
		}
		if (f.Event.Type == "turn.started" || f.Event.Type == "turn.joined") && f.Event.Inbox == inbox {
			turn = f.Event.Turn
		}
		if !fits(f.Event, turn) {
			return nil
		}
		text, _ = f.Event.Data["text"].(string)
		return found
	})
	if !errors.Is(err, found) {
		r.t.Fatalf("wait: %v", err)
	}
	return text
}

func (r *running) jobs() (names []string) {
	r.t.Helper()
	list, err := client.List(r.t.Context(), r.client, api.Jobs, event.Filter{})
	if err != nil {
		r.t.Fatalf("jobs: %v", err)
	}
	for _, j := range list {
		if j.Name != scheduler.Heartbeat {
			names = append(names, j.Name+"="+j.Prompt)
		}
	}
	slices.Sort(names)
	return names
}

// until asks again and again until something holds.
func (r *running) until(what string, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("%s did not happen", what)
		}
	}
}

func write(t testing.TB, home, text string) {
	t.Helper()
	part := filepath.Join(home, "config.toml.new")
	if err := os.WriteFile(part, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, filepath.Join(home, "config.toml")); err != nil {
		t.Fatal(err)
	}
}

// boot opens the state of a daemon that has ended and says how it ended.
func boot(t *testing.T, home string) store.Boot {
	t.Helper()
	s := storetest.Open(t, filepath.Join(home, "state"))
	storetest.Close(t, s)
	return s.Boot()
}

func TestMessageInAnswerOut(t *testing.T) {
	home := filepath.Join(t.TempDir(), "made", "by", "hob")
	r := start(t, home)
	if r.ready.Model != "builtin" || r.ready.Address == "" || len(r.ready.Channels) != 1 || r.ready.After <= 0 {
		t.Errorf("ready %+v", r.ready)
	}
	if text := r.say("help"); !strings.Contains(text, "remind") {
		t.Errorf("it answers %q", text)
	}
	if text := r.say("/status"); !strings.Contains(text, "hob test is ") {
		t.Errorf("status says %q", text)
	}
	if status, err := client.Show(t.Context(), r.client, api.ShowStatus, ""); err != nil || status.Model != "builtin" || status.Home != home {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := r.stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if _, err := client.Find(t.Context(), home, false); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("after the stop somebody answers: %v", err)
	}
	if b := boot(t, home); b.Crashed || b.Epoch != 2 {
		t.Errorf("the boot after a stop is %+v", b)
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	err := daemon.Run(t.Context(), daemon.Options{Home: home, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("a second one: %v, want ErrRunning", err)
	}
	if text := r.say("help"); text == "" {
		t.Error("the first one is harmed")
	}
}

// A stop while a tool runs ends within seconds, is clean, and the turn goes on at the next start.
func TestStopWhileAToolRuns(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	receipt, err := r.client.Post(t.Context(), client.Message{Text: "run sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(receipt.Event, func(e *event.Event, _ int64) bool { return e.Type == "tool.started" }, receipt.Inbox)
	began := time.Now()
	if err := r.stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // the sleep has 60
		t.Errorf("the stop took %v", took)
	}
	r = start(t, home)
	text := r.wait(receipt.Event, func(e *event.Event, _ int64) bool { return e.Type == "turn.finished" }, receipt.Inbox)
	if text == "" {
		t.Error("the turn ended without a word")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if boot(t, home).Crashed {
		t.Error("the stop was not clean")
	}
}

func fault(t *testing.T, home string) *event.Fault {
	t.Helper()
	err := daemon.Run(t.Context(), daemon.Options{Home: home, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	f, ok := event.AsFault(err)
	if !ok {
		t.Fatalf("want a sentence with a hint, got %v", err)
	}
	if f.Text == "" || f.Hint == "" || strings.HasSuffix(f.Text, ".") {
		t.Errorf("fault %+v", f)
	}
	return f
}

func says(t *testing.T, f *event.Fault, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(f.Text+" / "+f.Hint, p) {
			t.Errorf("%q / %q does not say %q", f.Text, f.Hint, p)
		}
	}
}

func TestBadHomes(t *testing.T) {
	t.Run("a file", func(t *testing.T) {
		home := filepath.Join(t.TempDir(), "home")
		if err := os.WriteFile(home, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		says(t, fault(t, home), "is not a folder", "--home")
	})
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		says(t, fault(t, filepath.Join(file, "home")), "is not a folder", "--home")
	})
	t.Run("read-only", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write anywhere")
		}
		home := t.TempDir()
		if err := os.Chmod(home, 0o500); err != nil { // #nosec G302 -- a folder
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(home, 0o700) }) // #nosec G302 -- a folder
		says(t, fault(t, home), "cannot be written", "--home")
	})
	t.Run("damaged", func(t *testing.T) {
		home := t.TempDir()
		state := filepath.Join(home, "state")
		if err := errors.Join(os.MkdirAll(state, 0o700), os.WriteFile(filepath.Join(state, "hob.db"), []byte(strings.Repeat("junk", 5000)), 0o600)); err != nil {
			t.Fatal(err)
		}
		says(t, fault(t, home), "is damaged", "nothing was changed")
	})
	t.Run("newer", func(t *testing.T) {
		home := t.TempDir()
		boot(t, home)
		c, err := sql.Open("sqlite", filepath.Join(home, "state", "hob.db"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.ExecContext(t.Context(), "PRAGMA user_version = 99")
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		if f := fault(t, home); !strings.Contains(f.Hint, "use the newer hob") || strings.Contains(f.Hint, "backup restore") {
			t.Errorf("R9a: a hint at a copy that is not there: %s", f.Hint)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(home, "state", "backups"), 0o700), os.WriteFile(filepath.Join(home, "state", "backups", "hob-upgrade-31-20260102-030405.db"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		says(t, fault(t, home), "newer hob", "(2026-01-02 03:04 UTC)", "hob-upgrade-31-20260102-030405.db")
	})
}

// A clock that shows a time before hob was written would spoil every slot: hob says so and touches nothing.
func TestClockBeforeHobWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a bubble begins in the year 2000
		home := filepath.Join(t.TempDir(), "home")
		says(t, fault(t, home), "the clock shows 2000-01-01", "set the clock")
		if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it made %s all the same (%v)", home, err)
		}
	})
}

func TestJobsOfTheConfig(t *testing.T) {
	home := t.TempDir()
	write(t, home, `
[jobs.tick]
cron = "* * * * * *"
prompt = "say: tick"
[jobs.bad]
cron = "not a schedule"
prompt = "x"
[jobs.other]
when = "every weekday at 9"
prompt = "say: morning"
`)
	r := start(t, home)
	if got := fmt.Sprint(r.jobs()); got != "[other=say: morning tick=say: tick]" {
		t.Errorf("jobs %s", got)
	}
	text := r.wait(1, func(e *event.Event, _ int64) bool { return e.Type == "message.sent" && e.Data["text"] == "tick" }, 0)
	if text != "tick" {
		t.Errorf("it says %q", text)
	}
	write(t, home, "[jobs.other]\nwhen = \"every weekday at 10\"\nprompt = \"say: later\"\n")
	r.until("the change of the jobs", func() bool { return fmt.Sprint(r.jobs()) == "[other=say: later]" })
	if err := os.Remove(filepath.Join(home, "config.toml")); err != nil {
		t.Fatal(err)
	}
	if text := r.say("help"); text == "" {
		t.Error("without a config file it is silent")
	}
}

// The config is written a hundred times under load, whole and half; hob never misses a message, never takes half a file
// for the truth, and in the end does what the last good file says.
func TestReloadUnderLoad(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	load, stopLoad := context.WithCancel(t.Context())
	answered := make(chan int, 4)
	for range cap(answered) {
		go func() {
			n := 0
			for load.Err() == nil {
				if r.say("help") != "" {
					n++
				}
			}
			answered <- n
		}()
	}
	for i := range 100 {
		whole := fmt.Sprintf("[owner]\nname = \"Sam %d\"\n[jobs.a]\nwhen = \"every day at 9\"\nprompt = \"say: %d\"\n", i, i)
		if i%3 == 1 {
			half := whole[:len(whole)-8] // ends inside a string
			if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(half), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, home, whole)
		}
		for _, j := range r.jobs() {
			if !strings.HasPrefix(j, "a=say: ") {
				t.Fatalf("after write %d there is a job %q", i, j)
			}
		}
	}
	r.until("the last config", func() bool { return fmt.Sprint(r.jobs()) == "[a=say: 99]" })
	stopLoad()
	for range cap(answered) {
		if n := <-answered; n == 0 {
			t.Error("a client got no answer at all")
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, home)
	if len(r.ready.Notes) != 0 {
		t.Errorf("notes %q", r.ready.Notes)
	}
}

// A file that is no TOML stops nothing: hob runs on the last good one and says so, also after a restart.
func TestSpoiltConfig(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[jobs.a]\nwhen = \"every day at 9\"\nprompt = \"say: hello\"\n")
	r := start(t, home)
	write(t, home, "[jobs.a\n")
	r.until("the notice", func() bool {
		status, err := client.Show(t.Context(), r.client, api.ShowStatus, "")
		return err == nil && len(status.Config) > 0
	})
	if got := fmt.Sprint(r.jobs()); got != "[a=say: hello]" {
		t.Errorf("jobs %s", got)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, home)
	if got := fmt.Sprint(r.jobs()); got != "[a=say: hello]" || len(r.ready.Notes) == 0 {
		t.Errorf("after a restart: jobs %s, notes %q", got, r.ready.Notes)
	}
}

// run calls a tool as the command line does.
func (r *running) run(tool, args string) api.Outcome {
	r.t.Helper()
	out, err := client.Do(r.t.Context(), r.client, api.CallTool, tool, client.ToolCall{Input: json.RawMessage(args), Workdir: filepath.Join(r.home, "workspace")})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}
