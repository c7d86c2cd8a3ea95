package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	kardianos "github.com/kardianos/service"
)

// github.com/kardianos/service installs and removes the units, with hob's own text as its template. The steps describe what its version
// 1.3.0 does, in its order; a test compares them with what it really runs. It is not used to start the service or to read its state: it
// drops the messages of systemctl, and it knows neither readiness nor timestamps.

// libraryInstall plans what the library does to install: folder, unit, enable, daemon-reload.
func (s systemd) libraryInstall() []Step {
	var steps []Step
	if dir := filepath.Dir(s.file()); !exists(dir) {
		steps = append(steps, Step{Folder: dir})
	}
	steps = append(steps, Step{Write: s.file(), Text: s.unit()}, s.step("enable"), Step{Run: s.ctl("daemon-reload")})
	return s.byLibrary(steps, kardianos.Service.Install)
}

// libraryUninstall plans what the library does to uninstall: disable, remove the unit, daemon-reload.
func (s systemd) libraryUninstall() []Step {
	return s.byLibrary([]Step{s.step("disable"), {Remove: s.file()}, {Run: s.ctl("daemon-reload")}}, kardianos.Service.Uninstall)
}

// byLibrary lets the first of several steps call the library, which carries out all of them.
func (s systemd) byLibrary(steps []Step, act func(kardianos.Service) error) []Step {
	for i := range steps {
		steps[i].byLibrary = i > 0
	}
	steps[0].library = func() error {
		unit, err := s.library()
		if err != nil {
			return err
		}
		for _, pair := range s.env() { // the library's commands inherit the environment of this process
			name, value, _ := strings.Cut(pair, "=")
			if err := os.Setenv(name, value); err != nil {
				return fmt.Errorf("set %s: %w", name, err)
			}
		}
		// The library does not say which step has failed, so the error names the first one.
		if err := act(unit); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(steps[0].line("make ", "write ", "remove ", "run "), "run "), err)
		}
		return nil
	}
	return steps
}

// library makes the library's service object. It names systemd explicitly, because the library's own choice depends on process 1.
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

// platform names the service manager of this machine, as far as the library knows.
func platform() string {
	if p := kardianos.Platform(); p != "" {
		return p
	}
	return "unknown"
}
