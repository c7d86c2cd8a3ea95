package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Program finds a program that hob starts outside of every sandbox: the first match in hob's PATH that no sandbox can write. A command
// could otherwise plant a program for hob to run. The error wraps exec.ErrNotFound.
func (s *Sandbox) Program(name string) (string, error) {
	if s == nil {
		return exec.LookPath(name)
	}
	return s.conf.program(name)
}

func (c Config) program(name string) (string, error) {
	passed := ""
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // relative to the folder that hob was started in
		}
		file, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !c.writable(dir) && !c.writable(real) {
			return file, nil
		}
		passed = fmt.Sprintf("; %s is skipped because commands in the sandbox may write there", file)
	}
	return "", fmt.Errorf("%s: %w%s", name, exec.ErrNotFound, passed)
}

// Path is hob's PATH without the folders that a sandbox may write, for what starts several programs.
func (s *Sandbox) Path() string {
	list := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) || s.conf.writable(dir) })
	return strings.Join(list, string(filepath.ListSeparator))
}

// writable reports whether a sandbox may write a path.
func (c Config) writable(path string) bool {
	path, err := resolved(path)
	return err != nil || slices.ContainsFunc(append(slices.Clone(c.Binds), c.Roots...), func(b Bind) bool {
		root, err := resolved(b.Path)
		return b.Write && (err != nil || within(root, path))
	})
}
