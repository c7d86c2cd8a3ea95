//go:build linux

package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys"
	"hob/packaging/service"
)

const unit = "~/.config/systemd/user/hob.service"

// TestSystemdLife goes through the life of a user's unit. What is told is what ran: must compares the two, so that the
// steps keep saying what the library does.
func TestSystemdLife(t *testing.T) {
	w := newFakeMachine(t, "linux")
	if st := w.state(); st.Installed || st.Running || st.Lingers != nil {
		t.Errorf("before: %+v", st)
	}
	w.same(w.must("install"), "made ~/.config/systemd/user", "wrote "+unit,
		"ran systemctl enable --user hob.service", "ran systemctl daemon-reload --user", "ran systemctl start --user hob.service")
	path := filepath.Join(w.machine.Home, ".config/systemd/user/hob.service")
	if got := w.text(path); got != service.UserUnit(w.spec.Program, "", "") {
		t.Errorf("unit:\n%s", got)
	}
	lingers := false
	want := service.State{
		Manager: "systemd", Scope: "user", Installed: true, Enabled: true, Running: true, State: "active (running)", Restarts: 2, PID: 4242,
		Since: time.Date(2026, 11, 21, 12, 53, 2, 0, time.UTC), Says: "ok · model builtin", File: path,
	}
	st := w.state()
	if st.Lingers == nil || *st.Lingers != lingers {
		t.Errorf("lingers: %v", st.Lingers)
	}
	if st.Lingers = nil; st != want {
		t.Errorf("state %+v\nwant %+v", st, want)
	}
	// Once more changes nothing; another home brings the unit up to date and hob with it.
	w.same(w.must("install"), "ran systemctl enable --user hob.service", "ran systemctl start --user hob.service")
	w.spec.Home, w.spec.Linger = "/srv/hob", true
	w.same(w.must("install"), "removed "+unit, "wrote "+unit, "ran systemctl enable --user hob.service", "ran systemctl daemon-reload --user",
		"ran systemctl restart --user hob.service", "ran loginctl enable-linger sam")
	if !strings.Contains(w.text(path), "\nEnvironment=HOB_HOME=/srv/hob\n") {
		t.Errorf("unit:\n%s", w.text(path))
	}
	if st := w.state(); st.Lingers == nil || !*st.Lingers {
		t.Error("it does not linger")
	}
	w.same(w.must("restart"), "ran systemctl restart --user hob.service")
	// The state says where the service looks for programs, also beside a home and in a path with a blank.
	for _, path := range []string{"/home/sam/.local/bin:/usr/bin", "/home/sam/my bin:/usr/bin"} {
		w.spec.Home, w.spec.Path = "/srv/my hob", path
		w.must("install")
		if st := w.state(); st.Path != path {
			t.Errorf("the state says the PATH %q, want %q", st.Path, path)
		}
	}
	w.same(w.must("stop"), "ran systemctl stop --user hob.service")
	if st := w.state(); st.Running || !st.Since.IsZero() || st.Says != "" || st.State != "inactive (dead)" {
		t.Errorf("stopped: %+v", st)
	}
	w.same(w.must("start"), "ran systemctl start --user hob.service")
	w.same(w.must("uninstall"), "ran systemctl stop --user hob.service", "ran systemctl disable --user hob.service", "removed "+unit,
		"ran systemctl daemon-reload --user", "ran systemctl reset-failed --user hob.service")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the unit is still there: %v", err)
	}
	w.same(w.must("uninstall"))
	if f := w.refused("start"); f.Hint != "install it with: hob service install --user" {
		t.Errorf("start without a unit: %+v", f)
	}
}

func TestSystemdRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		verb       string
		set        func(w *fakeMachine)
		text, hint string
	}{
		{"no bus", "install", func(w *fakeMachine) { w.Setenv("FAKE_BUS", "down") }, "your service manager, systemctl --user, does not answer", "if systemd runs this machine: sudo loginctl enable-linger sam, and type this again; if it does not, start hob with your own init: /bin/hob up --no-chat"},
		{"no systemd", "install", func(w *fakeMachine) { w.Setenv("PATH", w.fake) }, "there is no systemd here", "up --no-chat"},
		{"sudo for the user's own", "install", func(w *fakeMachine) { w.machine.UID, w.machine.Invoker = 0, "sam" }, "not that of sam", "type it without sudo: /bin/hob service install; or for the whole machine: sudo /bin/hob service install --system"},
		{"no root", "install", func(w *fakeMachine) { w.spec.System = true }, "only root may install a service of the whole machine", "type: sudo /bin/hob service install --system"},
		{"a program that goes away", "install", func(w *fakeMachine) { w.spec.Program = "/tmp/go-build1/b001/exe/hob" }, "that go run throws away", "go install"},
		{"a path that systemd refuses", "install", func(w *fakeMachine) { w.spec.Program = `/opt/"hob"/hob` }, "quotes or backslashes", "plainer name"},
		{"a program in a home", "install", func(w *fakeMachine) { w.spec.System, w.machine.UID = true, 0 }, "the user hob cannot run /bin/hob", "/usr/local/bin/hob && sudo /usr/local/bin/hob service install --system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFakeMachine(t, "linux")
			c.set(w)
			f := w.refused(c.verb)
			if !strings.Contains(w.plain(f.Text), c.text) || !strings.Contains(w.plain(f.Hint), c.hint) {
				t.Errorf("%s\n  %s\nwant %s\n  %s", w.plain(f.Text), w.plain(f.Hint), c.text, c.hint)
			}
		})
	}
}

// TestSystemdSaysWhy passes on what systemctl said, with every line of it.
func TestSystemdSaysWhy(t *testing.T) {
	w := newFakeMachine(t, "linux")
	w.Setenv("FAKE_START", "fails")
	told, _, err := w.do("install")
	if err == nil || !strings.Contains(err.Error(), "systemctl start --user hob.service: Job for hob.service failed") || !strings.Contains(err.Error(), `"journalctl -xeu hob.service"`) {
		t.Errorf("error %v", err)
	}
	if len(told) != 4 {
		t.Errorf("told %q", told)
	}
	w.Setenv("FAKE_START", "")
	w.same(w.must("install"), "ran systemctl enable --user hob.service", "ran systemctl start --user hob.service")
}

// TestSystemdHalfInstalled removes what an interrupted installation left: a file that systemd has not read.
func TestSystemdHalfInstalled(t *testing.T) {
	w := newFakeMachine(t, "linux")
	path := filepath.Join(w.machine.Home, ".config/systemd/user/hob.service")
	w.put(path, "[Unit]\n", 0o644)
	w.Setenv("FAKE_LOADED", "no")
	w.must("uninstall")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestSystemdWithoutLogin finds the user's manager by its folder where nothing names it, as after su.
func TestSystemdWithoutLogin(t *testing.T) {
	w := newFakeMachine(t, "linux")
	bus := filepath.Join(w.machine.Root, "run/user/1000")
	if err := os.MkdirAll(bus, 0o750); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(filepath.Dir(w.spec.Program), "systemctl")
	w.put(script, "#!/bin/sh\n[ \"$XDG_RUNTIME_DIR\" = "+bus+" ] || exit 1\n"+w.text(script), 0o755)
	w.must("install")
	if !w.state().Running {
		t.Error("it does not run")
	}
}

// TestSystemPlan only shows: the library knows the real folder of the system alone. The real systemd is .ci/systemd's.
func TestSystemPlan(t *testing.T) {
	w := newFakeMachine(t, "linux")
	w.spec.System, w.machine.UID = true, 0
	shown := func(verb string) (list []string) {
		steps, err := w.plan(verb)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Shown() {
				list = append(list, strings.ReplaceAll(s.Did(), w.machine.Root, ""))
			}
		}
		return list
	}
	const users, file = "/etc/sysusers.d/hob.conf", "/etc/systemd/system/hob.service"
	w.same(shown("uninstall"))
	w.same(shown("install"), "wrote "+users, "ran systemd-sysusers "+users, "made /etc/systemd/system", "wrote "+file,
		"ran systemctl enable hob.service", "ran systemctl daemon-reload", "ran systemctl start hob.service")
	w.put(w.machine.Root+users, service.SystemUsers(), 0o644)
	w.put(w.machine.Root+file, service.SystemUnit("/old/hob"), 0o644)
	w.same(shown("install"), "ran systemd-sysusers "+users, "removed "+file, "wrote "+file,
		"ran systemctl enable hob.service", "ran systemctl daemon-reload", "ran systemctl restart hob.service")
	w.same(shown("uninstall"), "ran systemctl stop hob.service", "ran systemctl disable hob.service", "removed "+file,
		"ran systemctl daemon-reload", "ran systemctl reset-failed hob.service", "removed "+users)
}

// TestPackagedUnit leaves what a package has brought to the package.
func TestPackagedUnit(t *testing.T) {
	w := newFakeMachine(t, "linux")
	w.spec.System, w.machine.UID = true, 0
	w.put(w.machine.Root+"/lib/systemd/system/hob.service", service.SystemUnit("/usr/bin/hob"), 0o644)
	if !service.Installed(w.machine, true) || service.Installed(w.machine, false) {
		t.Error("the package's unit is not seen, or taken for the user's")
	}
	steps, err := w.plan("install")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range steps {
		if s.Shown() {
			list = append(list, s.Did())
		}
	}
	w.same(list, "ran systemctl enable hob.service", "ran systemctl start hob.service")
	if f := w.refused("uninstall"); f.Hint != "type: "+sys.PackageCommand("hob", true) {
		t.Errorf("%+v", f)
	}
}

func TestSystemdLogs(t *testing.T) {
	w := newFakeMachine(t, "linux")
	if got := strings.Join(w.manager().Logs(20, false), " "); got != "journalctl --user-unit=hob.service --lines=20 --no-pager" {
		t.Error(got)
	}
	w.spec.System = true
	if got := strings.Join(w.manager().Logs(5, true), " "); got != "journalctl --unit=hob.service --lines=5 --no-pager --follow" {
		t.Error(got)
	}
}
