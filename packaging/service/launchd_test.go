//go:build unix

package service_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/daemon/sys/systest"
	"hob/packaging/service"
)

const plist = "~/Library/LaunchAgents/hob.plist"

// TestLaunchdLife goes through the life of an agent. A restart never unloads: what cuts it off leaves a service that runs.
func TestLaunchdLife(t *testing.T) {
	w := newFakeMachine(t, "darwin")
	if st := w.state(); st.Installed || st.Running {
		t.Errorf("before: %+v", st)
	}
	w.same(w.must("install"), "made ~/.hob/state/log", "wrote "+plist, "ran launchctl enable gui/1000/hob", "ran launchctl bootstrap gui/1000 "+plist)
	want := service.State{
		Manager: "launchd", Scope: "user", Installed: true, Enabled: true, Running: true, State: "running", Restarts: 2, PID: 4242,
		Since: time.Date(2026, 11, 21, 12, 53, 2, 0, time.UTC), File: filepath.Join(w.machine.Home, "Library/LaunchAgents/hob.plist"),
	}
	if st := w.state(); st != want {
		t.Errorf("state %+v\nwant %+v", st, want)
	}
	w.same(w.must("install"), "ran launchctl enable gui/1000/hob", "ran launchctl kickstart gui/1000/hob")
	w.same(w.must("restart"), "ran launchctl kickstart -k gui/1000/hob")
	w.same(w.must("start"), "ran launchctl kickstart gui/1000/hob")
	w.same(w.must("stop"), "ran launchctl bootout gui/1000/hob")
	w.same(w.must("stop"))
	if st := w.state(); st.Running || st.State != "not loaded" || !st.Installed {
		t.Errorf("stopped: %+v", st)
	}
	w.put(filepath.Join(w.fake, "disabled"), "", 0o644)
	if w.state().Enabled {
		t.Error("it is enabled, and launchd says that it is not")
	}
	w.same(w.must("restart"), "ran launchctl enable gui/1000/hob", "ran launchctl bootstrap gui/1000 "+plist)
	w.same(w.must("uninstall"), "ran launchctl bootout gui/1000/hob", "removed "+plist)
	w.same(w.must("uninstall"))
	if f := w.refused("restart"); f.Hint != "install it with: hob service install --user" {
		t.Errorf("%+v", f)
	}
}

// TestLaunchdNewProgram makes launchd read the plist again, and is patient with a service that takes its time to go.
func TestLaunchdNewProgram(t *testing.T) {
	w := newFakeMachine(t, "darwin")
	w.must("install")
	w.Setenv("FAKE_SLOW", "2")
	w.spec.Home = filepath.Join(w.machine.Home, "other")
	told, ran, err := w.do("install")
	if err != nil {
		t.Fatal(err)
	}
	const bootstrap = "launchctl bootstrap gui/1000 " + plist
	w.same(told, "made ~/other/state/log", "wrote "+plist, "ran launchctl bootout gui/1000/hob", "ran launchctl enable gui/1000/hob", "ran "+bootstrap)
	w.same(ran, "launchctl bootout gui/1000/hob", "launchctl enable gui/1000/hob", bootstrap, bootstrap, bootstrap)
}

func TestLaunchdRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		set        func(w *fakeMachine)
		text, hint string
	}{
		{"nobody at the screen", func(w *fakeMachine) { w.Setenv("FAKE_GUI", "none") }, "nobody is logged in at the screen", "sudo /bin/hob service install --system"},
		{"no root", func(w *fakeMachine) { w.spec.System, w.machine.Invoker = true, "sam" }, "only root may install", "type: sudo /bin/hob service install --system"},
		{"nobody to run as", func(w *fakeMachine) { w.spec.System, w.machine.UID = true, 0 }, "not known who", "sudo /bin/hob service install --system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFakeMachine(t, "darwin")
			c.set(w)
			f := w.refused("install")
			if !strings.Contains(f.Text, c.text) || !strings.Contains(w.plain(f.Hint), c.hint) {
				t.Errorf("%s\n  %s", f.Text, w.plain(f.Hint))
			}
		})
	}
}

// TestPlistParses reads the plist with a parser that is not ours: Apple's, else Python's.
func TestPlistParses(t *testing.T) {
	w := newFakeMachine(t, "darwin")
	w.spec = service.Spec{Program: `/opt/a & b/<hob> "é"/hob`, Home: "/Users/sam/my home", System: true}
	w.machine.UID, w.machine.Invoker = 0, "sam"
	steps, err := w.plan("install")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hob.plist")
	for _, s := range steps {
		if s.Write != "" {
			w.put(file, s.Text, 0o644)
		}
	}
	var got map[string]any
	if err := json.Unmarshal(parsePlist(t, file), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Label": "hob", "ProgramArguments": []any{w.spec.Program, "up", "--no-chat"}, "UserName": "sam", "RunAtLoad": true, "KeepAlive": true,
		"EnvironmentVariables": map[string]any{"HOB_HOME": "/Users/sam/my home", "PATH": "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
		"ExitTimeOut":          20.0, "Umask": 63.0,
		"StandardOutPath": "/Users/sam/my home/state/log/service.log", "StandardErrorPath": "/Users/sam/my home/state/log/service.log",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func parsePlist(t *testing.T, file string) []byte {
	t.Helper()
	argv := []string{"/usr/bin/plutil", "-convert", "json", "-o", "-", file}
	if _, err := os.Stat(argv[0]); err != nil {
		argv = []string{"/usr/bin/python3", "-c", "import json,plistlib,sys;print(json.dumps(plistlib.load(open(sys.argv[1],'rb'))))", file}
	}
	if _, err := os.Stat(argv[0]); err != nil {
		systest.Missing(t, "neither plutil nor /usr/bin/python3 is here to parse a plist with")
	}
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLaunchdLogs(t *testing.T) {
	w := newFakeMachine(t, "darwin")
	if got := w.plain(strings.Join(w.manager().Logs(20, true), " ")); got != "tail -n 20 -F ~/.hob/state/log/service.log" {
		t.Error(got)
	}
}

func TestOtherSystems(t *testing.T) {
	_, err := service.For(service.Machine{OS: "windows"}, service.Spec{})
	if err == nil || !strings.Contains(err.Error(), "no service manager on windows") || service.Installed(service.Machine{OS: "windows"}, true) {
		t.Errorf("error %v", err)
	}
}
