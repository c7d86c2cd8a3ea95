package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	kardianos "github.com/kardianos/service"
)

// The units are put in place and taken away by github.com/kardianos/service, with hob's own text as its template. The
// steps say what version 1.3.0 of it does, in its order; a test holds them against what it really runs. It is not
// asked to start or to look: it does not pass on what systemctl says, and it knows neither readiness nor times.

func (s systemd) libraryInstall() []Step {
	var steps []Step
	if dir := filepath.Dir(s.file()); !exists(dir) {
		steps = append(steps, Step{Folder: dir})
	}
	steps = append(steps, Step{Write: s.file(), Text: s.unit()}, s.step("enable"), Step{Run: s.ctl("daemon-reload")})
	return s.byLibrary(steps, kardianos.Service.Install)
}

func (s systemd) libraryUninstall() []Step {
	return s.byLibrary([]Step{s.step("disable"), {Remove: s.file()}, {Run: s.ctl("daemon-reload")}}, kardianos.Service.Uninstall)
}

// byLibrary hands a run of steps over: the first one carries them all out.
func (s systemd) byLibrary(steps []Step, act func(kardianos.Service) error) []Step {
	for i := range steps {
		steps[i].covered = i > 0
	}
	steps[0].library = func() error {
		unit, err := s.library()
		if err != nil {
			return err
		}
		for _, pair := range s.env() { // the library's commands have the environment of this process
			name, value, _ := strings.Cut(pair, "=")
			if err := os.Setenv(name, value); err != nil {
				return fmt.Errorf("set %s: %w", name, err)
			}
		}
		if err := act(unit); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(steps[0].line("make ", "write ", "remove ", "run "), "run "), err)
		}
		return nil
	}
	return steps
}

// library makes the library's view of the unit. It is asked for systemd by name: what it would choose by itself depends on
// what runs as process 1.
func (s systemd) library() (kardianos.Service, error) {
	for _, system := range kardianos.AvailableSystems() {
		if system.String() == "linux-systemd" {
			return system.New(nil, &kardianos.Config{
				Name: strings.TrimSuffix(unitName, ".service"), Executable: s.Program,
				Option: kardianos.KeyValue{"SystemdScript": s.unit(), "UserService": !s.System},
			})
		}
	}
	return nil, errors.New("the library knows no systemd here")
}

// platform names what starts programs on this machine, as far as the library can tell.
func platform() string {
	if p := kardianos.Platform(); p != "" {
		return p
	}
	return "unknown"
}
