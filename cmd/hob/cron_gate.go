package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hob/cmd/hob/cli"
	"hob/scheduler"
)

// checkGate refuses gates that the cron tool would refuse, with errors that name the flags.
func checkGate(d scheduler.Draft) error {
	none := strings.EqualFold(strings.TrimSpace(d.GateText), scheduler.NoGate)
	if d.GateMode != "" && (d.GateText == "" || none) {
		return cli.Usage("for example --gate 'test -e ready' --gate-mode exit", "--gate-mode says what counts of the command of --gate")
	}
	if none && (d.GateURL != "" || len(d.GateFiles) > 0) {
		return cli.Usage("", "--gate none takes the gate away: it stands alone")
	}
	return nil
}

// gateText is the gate in the form of the cron tool; "" if no flag gives one. Relative globs are relative to
// the current folder. The tool has one text for command, URL, files and mode together; scheduler.Gate writes
// it.
func gateText(d scheduler.Draft) (string, error) {
	var gate scheduler.Gate
	if strings.EqualFold(strings.TrimSpace(d.GateText), scheduler.NoGate) {
		return scheduler.NoGate, nil
	}
	// In the mode "exit" the exit code of the command decides, else whether its output is new.
	gate.Command, gate.Exit, gate.URL = strings.TrimSpace(d.GateText), d.GateMode == "exit", strings.TrimSpace(d.GateURL)
	for _, list := range d.GateFiles {
		for _, glob := range scheduler.SplitFiles(list) {
			glob, err := absoluteGlob(glob)
			if err != nil {
				return "", err
			}
			gate.Files = append(gate.Files, glob)
		}
	}
	return gate.Words(), nil
}

// absoluteGlob makes a glob absolute, because the daemon has another current folder.
func absoluteGlob(glob string) (string, error) {
	if filepath.IsAbs(glob) || glob == "~" || strings.HasPrefix(glob, "~/") {
		return glob, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find out where --gate-files %q begins: %w", glob, err)
	}
	return filepath.Join(dir, glob), nil
}
