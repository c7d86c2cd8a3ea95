package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// What the initialisers of packages may allocate. They run at each start of hob, also for a command that needs none of them, and each byte costs
// time and a part of a page. What is left belongs to libraries: HTML and Markdown parsers above all.
const (
	mostByAll = 1_730_000
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
		if onlyInTests(m[1]) {
			continue
		}
		own := strings.HasPrefix(m[1], "hob/")
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

// onlyInTests reports whether tests alone use a package: their program is the one that is measured.
func onlyInTests(name string) bool {
	return strings.HasPrefix(name, "hob/") && strings.HasSuffix(name, "test") ||
		slices.ContainsFunc([]string{"pgregory.net/", "github.com/charmbracelet/", "github.com/mattn/", "github.com/rogpeppe/", "testing"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// mostByCommands is what making the commands may allocate, in bytes, if args name one of them. All together take several times as much.
const mostByCommands = 20_000

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
	t.Logf("%d bytes; all of them %d", got, whole)
	if got > mostByCommands || whole < 2*got {
		t.Errorf("making the command version allocates %d bytes, all commands %d; want at most %d, and far more for all", got, whole, mostByCommands)
	}
}

// TestNamedCommandIsMadeAlone compares each command, made because args name it, with the same one among all.
func TestNamedCommandIsMadeAlone(t *testing.T) {
	all := main.NewRoot(cli.New(), nil).Commands()
	for _, want := range all {
		if want.Name() == "completion" { // cobra's
			continue
		}
		for _, args := range [][]string{{want.Name()}, {"--json", want.Name(), "status"}, {"--home", "up", want.Name()}, {"--home=up", "-v", want.Name(), "--help"}} {
			alone := main.NewRoot(cli.New(), args).Commands()
			if len(alone) != 1 || alone[0].Name() != want.Name() || alone[0].GroupID != want.GroupID || alone[0].Short != want.Short {
				t.Errorf("hob %v makes %v, want %s alone", args, names(alone), want.Name())
			}
		}
	}
	// Without a name that is known, suggestions, help and completion need all.
	for _, args := range [][]string{{}, {"--json"}, {"statsu", "status"}, {"help", "status"}, {"__complete", "status", ""}, {"--home", "status"}} {
		if got := main.NewRoot(cli.New(), args).Commands(); len(got) != len(all) {
			t.Errorf("hob %v makes %v, want all", args, names(got))
		}
	}
}

func names(commands []*cobra.Command) (list []string) {
	for _, c := range commands {
		list = append(list, c.Name())
	}
	return list
}
