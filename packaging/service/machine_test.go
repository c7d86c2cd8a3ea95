//go:build unix

package service_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/packaging/service"
)

// fakeMachine is a machine whose service manager is a script on PATH that records what it is told.
type fakeMachine struct {
	*testing.T
	machine service.Machine
	spec    service.Spec
	fake    string
}

func newFakeMachine(t *testing.T, system string) *fakeMachine {
	t.Helper()
	dir := t.TempDir()
	w := &fakeMachine{T: t, fake: filepath.Join(dir, "fake")}
	bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "sam")
	for _, d := range []string{w.fake, bin, home} {
		if err := os.Mkdir(d, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	scripts, err := filepath.Glob("testdata/bin/*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		w.put(filepath.Join(bin, filepath.Base(s)), w.text(s), 0o755)
	}
	w.spec.Program = filepath.Join(bin, "hob")
	w.put(w.spec.Program, "#!/bin/sh\n", 0o755)
	w.machine = service.Machine{OS: system, UID: 1000, User: "sam", Home: home, Root: dir}
	unit := filepath.Join(home, ".config/systemd/user/hob.service")
	if system == "darwin" {
		unit = filepath.Join(home, "Library/LaunchAgents/hob.plist")
	}
	for name, value := range map[string]string{
		"PATH": bin + ":/usr/bin:/bin", "HOME": home, "FAKE": w.fake, "FAKE_UNIT": unit, "XDG_RUNTIME_DIR": "",
		"FAKE_BUS": "", "FAKE_START": "", "FAKE_LOADED": "", "FAKE_LOGIN": "", "FAKE_GUI": "", "FAKE_SLOW": "",
	} {
		t.Setenv(name, value)
	}
	return w
}

func (w *fakeMachine) put(path, text string, mode os.FileMode) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.Fatal(err)
	}
}

func (w *fakeMachine) text(path string) string {
	w.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *fakeMachine) manager() service.Manager {
	w.Helper()
	m, err := service.For(w.machine, w.spec)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// plan makes the steps of a verb; install and uninstall among them.
func (w *fakeMachine) plan(verb string) ([]service.Step, error) {
	m := w.manager()
	switch verb {
	case "install":
		return m.Install(w.Context())
	case "uninstall":
		return m.Uninstall(w.Context())
	}
	return m.Control(w.Context(), service.Verb(verb))
}

// do carries a verb out and returns what was told of it and what the scripts were told, without their questions.
func (w *fakeMachine) do(verb string) (told, ran []string, err error) {
	w.Helper()
	steps, err := w.plan(verb)
	if err == nil {
		w.ran()
		err = service.Do(w.Context(), steps, func(s service.Step) { told = append(told, w.plain(s.Did())) })
	}
	return told, w.ran(), err
}

// must is do where nothing may go wrong, and where what is told is what the scripts ran.
func (w *fakeMachine) must(verb string) []string {
	w.Helper()
	told, ran, err := w.do(verb)
	if err != nil {
		w.Fatalf("%s: %v", verb, err)
	}
	var said []string
	for _, line := range told {
		if command, ok := strings.CutPrefix(line, "ran "); ok {
			said = append(said, command)
		}
	}
	if got, want := strings.Join(said, "\n"), strings.Join(ran, "\n"); got != want {
		w.Errorf("%s: told of\n%s\nbut ran\n%s", verb, got, want)
	}
	return told
}

// ran empties the record. Questions change nothing and are not told.
func (w *fakeMachine) ran() []string {
	b, err := os.ReadFile(filepath.Join(w.fake, "ran"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(filepath.Join(w.fake, "ran"))
	}
	if err != nil {
		w.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if !strings.HasPrefix(words[1], "show") && !strings.HasPrefix(words[1], "print") && words[0] != "ps" {
			list = append(list, w.plain(strings.TrimSpace(line)))
		}
	}
	return list
}

// plain takes what differs from run to run out of a text.
func (w *fakeMachine) plain(text string) string {
	return strings.NewReplacer(w.machine.Home, "~", w.spec.Program, "/bin/hob").Replace(text)
}

// state looks; it has to work.
func (w *fakeMachine) state() service.State {
	w.Helper()
	st, err := w.manager().State(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return st
}

// refused carries a verb out that has to end in a fault before anything is changed.
func (w *fakeMachine) refused(verb string) *event.Fault {
	w.Helper()
	told, ran, err := w.do(verb)
	f, ok := event.AsFault(err)
	if !ok || len(told) > 0 || len(ran) > 0 {
		w.Fatalf("%s: error %v, told %q, ran %q", verb, err, told, ran)
	}
	return f
}

func (w *fakeMachine) same(got []string, want ...string) {
	w.Helper()
	if g, x := strings.Join(got, "\n"), strings.Join(want, "\n"); g != x {
		w.Errorf("told\n%s\nwant\n%s", g, x)
	}
}
