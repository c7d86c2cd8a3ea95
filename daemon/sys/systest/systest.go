// Package systest is for tests that need more of the machine than Go. A test that misses something is skipped, with the reason.
// With the environment variable CI set it fails instead, so that CI cannot forget to install a program.
package systest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program returns the path of the first of these programs that is installed. Without one of them the test is skipped.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path := find(name); path != "" {
			return path
		}
	}
	Missing(t, strings.Join(names, " or ")+" is not installed")
	return ""
}

// Sandbox reports whether bubblewrap is installed, for tests of which only a part needs it. With CI set it is always true, so that the
// part without it fails.
func Sandbox() bool { return find("bwrap") != "" || Thorough() }

// find looks in PATH, and in /usr/sbin, where servers are.
func find(name string) string {
	for _, file := range []string{name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(file); err == nil {
			return path
		}
	}
	return ""
}

// Thorough reports whether this run is CI's, which tries what takes long in full. Elsewhere a sample is enough.
func Thorough() bool { return os.Getenv("CI") != "" }

// Missing skips the test for this reason; with CI set, it fails the test.
func Missing(t testing.TB, why string) {
	t.Helper()
	if Thorough() {
		t.Fatal(why + "; with CI set, a test that needs it cannot be skipped")
	}
	t.Skip(why)
}
