//go:build linux

package crashtest_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"hob/daemon/mcp/mcptest"
)

var (
	kills = flag.Int("kills", number("HOB_KILLS", 40), "how many random kills")
	seed  = flag.Uint64("seed", uint64(number("HOB_SEED", 1)), "seed of the random kills")
)

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// The two builds: release is what people run, tested can die at named points and has the deliberate faults.
var (
	release = sync.OnceValues(func() (string, error) { return build("hob") })
	tested  = sync.OnceValues(func() (string, error) { return build("hobtest", "-tags", "hobtest") })
)

var bins = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "hob-rig-") })

func build(name string, flags ...string) (string, error) {
	dir, err := bins()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "hob/cmd/hob")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

func TestMain(m *testing.M) {
	mcptest.Main()
	if err := flag.Set("test.parallel", fmt.Sprint(3*runtime.NumCPU())); err != nil { // most of the time hob waits; the command line counts all the same
		panic(err)
	}
	flag.Parse()
	code := m.Run()
	if dir, err := bins(); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// binary builds hob, or skips under -short: a build takes seconds.
func binary(t *testing.T, make func() (string, error)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the kill rig builds and kills the real binary; not with -short")
	}
	path, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
