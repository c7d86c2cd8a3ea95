package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// retryPause is the pause between two tries of a command that may have to wait for an earlier one.
const retryPause = 250 * time.Millisecond

// Step is one step of a plan. Exactly one of the exported fields is set, besides Text. A step that is only a check is not shown.
type Step struct {
	Folder string   `json:"folder,omitempty"` // a folder to make
	Write  string   `json:"write,omitempty"`  // a file to write, with Text
	Text   string   `json:"text,omitempty"`
	Remove string   `json:"remove,omitempty"` // a file to remove
	Run    []string `json:"run,omitempty"`    // a command to run

	check     func(context.Context) error // runs before anything is changed
	library   func() error                // a call of kardianos/service; it carries out this step and the steps after it that are marked byLibrary
	byLibrary bool                        // shown, but carried out by the library call of an earlier step
	okCodes   []int                       // exit codes of Run that count as success
	retryFor  time.Duration               // how long Run is retried
	env       []string                    // for Run, in addition to the environment of the process
}

// Shown reports whether the step changes something.
func (s Step) Shown() bool { return s.check == nil }

// Objection returns the reason why the plan would stop before any change, as far as this step knows; nil: none.
func (s Step) Objection(ctx context.Context) error {
	if s.check == nil {
		return nil
	}
	return s.check(ctx)
}

// Did describes in one line what was done.
func (s Step) Did() string { return s.line("made ", "wrote ", "removed ", "ran ") }

// Would describes for a dry run what would be done: one line, then the text of a file.
func (s Step) Would() string {
	line := s.line("would make ", "would write ", "would remove ", "would run ")
	for text := range strings.Lines(s.Text) {
		line += "\n" + strings.TrimRight("    "+text, " \n")
	}
	return line
}

// line words the step with the verb that fits what it does.
func (s Step) line(folder, write, remove, run string) string {
	switch {
	case s.Folder != "":
		return folder + s.Folder
	case s.Write != "":
		return write + s.Write
	case s.Remove != "":
		return remove + s.Remove
	}
	return run + quote(s.Run)
}

// Do carries out a plan and calls told after each step. It stops at the first error; a new plan continues from there.
func Do(ctx context.Context, steps []Step, told func(Step)) error {
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return err
		}
		if s.Shown() {
			told(s)
		}
	}
	return nil
}

// do carries out one step. The order of the cases matters: a step that the library carries out also has the fields that describe it.
func (s Step) do(ctx context.Context) error {
	switch {
	case s.byLibrary:
		return nil
	case s.check != nil:
		return s.check(ctx)
	case s.library != nil:
		return s.library()
	case s.Folder != "":
		return os.MkdirAll(s.Folder, 0o700)
	case s.Write != "":
		return write(s.Write, s.Text)
	case s.Remove != "":
		if err := os.Remove(s.Remove); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return s.run(ctx)
}

// run runs the command until it succeeds or retryFor is over.
// With retryFor 0 it runs once.
func (s Step) run(ctx context.Context) error {
	begin := time.Now()
	for {
		_, err := command(ctx, s.env, s.Run...)
		var bad *exec.ExitError
		if err == nil || errors.As(err, &bad) && slices.Contains(s.okCodes, bad.ExitCode()) {
			return nil
		}
		if time.Since(begin) >= s.retryFor {
			return err
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// command runs a program of the service manager and returns its output. The error is an *event.Fault with the program's last message; it
// wraps an *exec.ExitError if the program ran.
func command(ctx context.Context, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- the plan's own words
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "TZ=UTC"), env...) // its output is parsed
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	reason := strings.Join(strings.FieldsFunc(bad.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if reason == "" {
		reason = err.Error()
	}
	return out.String(), &event.Fault{Kind: event.Clash, Text: quote(argv) + ": " + reason, Err: err}
}

// write replaces a file completely or not at all. Everybody may read it: it contains no secret, and the service manager may be another
// user.
func write(path, text string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- a folder of the system
		return err
	}
	// The new file is in the same folder, because a rename works only within one file system.
	f, err := os.CreateTemp(filepath.Dir(path), ".hob-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// quote joins words for a shell.
// In single quotes only the single quote itself is special (POSIX, Shell Command Language, 2.2.2).
func quote(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
