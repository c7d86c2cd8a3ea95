package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// What the initialisers of packages may allocate. They run at each start of hob, also for a command that needs none of them, and each byte costs
// time and a part of a page. What is left belongs to libraries: HTML and Markdown parsers above all.
const (
	mostByAll = 1_800_000
	mostByOne = 4_000 // by a package of hob's
)

// TestInitialisersAllocateLittle runs the smallest command and reads what each initialiser allocated. An expression or a table of hob's is made at
// its first use: sys.Regexp, sync.OnceValue.
func TestInitialisersAllocateLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "hob", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var total, packages int
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes`).FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m[1], "pgregory.net/") {
			continue // tests alone use it
		}
		own := strings.HasPrefix(m[1], "hob/") && !strings.HasSuffix(m[1], "test")
		if own && n > mostByOne {
			t.Errorf("the initialiser of %s allocates %d bytes, more than %d", m[1], n, mostByOne)
		}
		total, packages = total+n, packages+1
	}
	if packages < 100 {
		t.Errorf("%d initialisers found in:\n%s", packages, out)
	}
	if total > mostByAll {
		t.Errorf("all initialisers allocate %d bytes, more than %d", total, mostByAll)
	}
	t.Logf("%d packages, %d bytes", packages, total)
}

// mostByCommands is what making all commands may allocate, in bytes, if args do not name one that needs the config reference. The reference takes
// several times as much.
const mostByCommands = 400_000

func TestCommandsAllocateLittle(t *testing.T) {
	allocated := func(args []string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		main.NewRoot(cli.New(), args)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated([]string{"version"}) // what is made once
	got, whole := allocated([]string{"version"}), allocated(nil)
	t.Logf("%d bytes; with the reference %d", got, whole)
	if got > mostByCommands || whole < 2*got {
		t.Errorf("making the commands allocates %d bytes, with the config reference %d; want at most %d, and far more with it", got, whole, mostByCommands)
	}
}
