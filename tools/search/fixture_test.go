package search_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a workspace with the two tools. top/ws is the workspace, top/state hob's state, top the owner's home.
type fixture struct {
	tainted    bool // the calls are those of a turn that has read foreign text
	top, dir   string
	guard      *fsguard.Guard
	grep, glob tools.Tool
}

func newFixture(t testing.TB, roots ...fsguard.Root) fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(top, "ws"), 0o700))
	must(t, os.Mkdir(filepath.Join(top, "state"), 0o700))
	return fixtureAt(t, top, filepath.Join(top, "ws"), roots...)
}

func fixtureAt(t testing.TB, top, dir string, roots ...fsguard.Root) fixture {
	t.Helper()
	d := fixture{top: top, dir: dir}
	state := filepath.Join(top, "state")
	var err error
	d.guard, err = fsguard.New(fsguard.Config{Workspace: d.dir, State: state, Home: top, Roots: roots, Marked: func(path string) string {
		if strings.HasSuffix(path, "marked.txt") {
			return "written by a tainted turn"
		}
		return ""
	}})
	must(t, err)
	deps := search.Deps{Guard: d.guard, State: state}
	d.grep, d.glob = search.NewGrep(deps), search.NewGlob(deps)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes files into the workspace: name, content, name, content …
func (d fixture) put(t testing.TB, files ...string) {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(d.dir, files[i])
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
}

type args map[string]any

func (d fixture) do(t testing.TB, tool tools.Tool, a args) tools.Result {
	t.Helper()
	res, err := d.try(t.Context(), t, tool, a)
	must(t, err)
	return res
}

func (d fixture) try(ctx context.Context, t testing.TB, tool tools.Tool, a args) (tools.Result, error) {
	t.Helper()
	raw, err := json.Marshal(a)
	must(t, err)
	c := tools.Call{ID: "t1_1", Session: 1, Args: raw, Workdir: d.dir, Zone: "UTC", Tainted: d.tainted}
	if res, ok := tools.Validate(tool, raw); !ok {
		return res, nil
	}
	intent, err := tool.Intent(ctx, c)
	if err != nil {
		return tools.ErrorResult(err), nil
	}
	return tool.Run(ctx, c, intent)
}

// found is the content of a grep without its closing note.
func (d fixture) found(t testing.TB, a args) string {
	t.Helper()
	res := d.do(t, d.grep, a)
	if res.IsError {
		t.Fatal(res.Content)
	}
	return withoutNote(res.Content)
}

func withoutNote(content string) string {
	lines := strings.Split(content, "\n")
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "(") && strings.HasSuffix(last, ")") {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

func (d fixture) globbed(t testing.TB, a args) []string {
	t.Helper()
	res := d.do(t, d.glob, a)
	if res.IsError {
		t.Fatal(res.Content)
	}
	out, ok := res.Data.(search.GlobOutput)
	if !ok {
		t.Fatalf("data is %T", res.Data)
	}
	var list []string
	for _, f := range out.Files {
		list = append(list, f.Path)
	}
	return list
}

// lines runs a program in dir and returns what it prints, sorted. No output is no error for the programs here.
func lines(t testing.TB, home, dir, name string, arg ...string) []string {
	t.Helper()
	cmd := exec.Command(name, arg...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); ok && len(e.Stderr) > 0 && e.ExitCode() != 1 { //nolint:errorlint // as exec returns it
		t.Logf("%s %q: %s", name, arg, e.Stderr)
	}
	return sorted(strings.Split(strings.TrimRight(string(out), "\n"), "\n"))
}

func sorted(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return list
}

func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}
