//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/runtime"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "__swap" {
		os.Exit(swap())
	}
	if os.Getenv("HOB_TEST_ZOO") != "" {
		os.Exit(playHob())
	}
	goleak.VerifyTestMain(m)
}

type artifactStore struct {
	kept    [][]byte
	sources []string // source of each stored output; "" for the owner's
	err     error
}

func (s *artifactStore) Keep(ctx context.Context, name string, data []byte) (string, error) {
	return s.KeepForeign(ctx, name, "", data)
}

func (s *artifactStore) KeepForeign(_ context.Context, _, source string, data []byte) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	s.kept, s.sources = append(s.kept, bytes.Clone(data)), append(s.sources, source)
	return fmt.Sprintf("a%d", len(s.kept)), nil
}

// inbox keeps the reports of background processes, as hob's inbox does.
type inbox struct{ came chan runtime.Report }

func (i inbox) Report(_ context.Context, r runtime.Report) error {
	i.came <- r
	return nil
}

// none fails when a report has come.
func (i inbox) none(t *testing.T) {
	t.Helper()
	select {
	case r := <-i.came:
		t.Errorf("a report that nobody needs: %+v", r)
	default:
	}
}

// bench is exec and process with their surroundings.
type bench struct {
	exec          tools.Tool
	process       tools.Tool
	guard         *fsguard.Guard
	sandbox       *sandbox.Sandbox // nil: commands are not confined
	group         *sys.Group
	registry      *runtime.Registry
	inbox         inbox
	end           context.CancelFunc // ends hob: all that runs in the background
	call          tools.Call         // what calls have in common
	dir           string             // the workspace
	home          string
	state         string
	artifactStore *artifactStore
}

func newBench(t testing.TB, limits runtime.Limits, change ...func(*runtime.ExecDeps)) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: filepath.Join(home, "ws"), home: home, state: filepath.Join(home, "state"), artifactStore: &artifactStore{}, inbox: inbox{make(chan runtime.Report, 100)}}
	for _, d := range []string{b.dir, b.state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g, err := fsguard.New(fsguard.Config{Workspace: b.dir, State: b.state, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	group := sys.NewGroup(slog.New(slog.DiscardHandler), func(name string, err error) { t.Errorf("%s: %v", name, err) })
	d := runtime.ExecDeps{
		Guard: g, Artifacts: b.artifactStore, Spawn: group, Registry: runtime.NewRegistry(b.inbox), Instance: "test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SECRET_TOKEN=canary", "OPENAI_API_KEY=canary", "LC_TIME=C", "TMPDIR=" + home}, Limits: limits,
	}
	for _, f := range change {
		f(&d)
	}
	b.group, b.registry = group, d.Registry
	b.guard, b.sandbox, b.exec, b.process = d.Guard, d.Sandbox, runtime.NewExec(d), runtime.NewProcess(d)
	b.call = tools.Call{ID: "t1_1", Turn: 1, Session: 1, Key: "main", Workdir: b.dir, Zone: "Europe/Berlin", Trust: event.Owner}
	var life context.Context
	life, b.end = context.WithCancel(context.WithoutCancel(t.Context()))
	group.Go(life, "registry", d.Registry.Run)
	t.Cleanup(func() { b.end(); group.Wait() })
	return b
}

func (b *bench) runRaw(ctx context.Context, args []byte) tools.Result { return b.do(ctx, b.exec, args) }

func (b *bench) do(ctx context.Context, tool tools.Tool, args []byte) tools.Result {
	call := b.call
	call.Name, call.Args = tool.Spec().Name, args
	intent, err := tool.Intent(ctx, call)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(ctx, call, intent)
	if err != nil {
		return tools.ErrorResult(err)
	}
	return res
}

// handle calls process.
func (b *bench) handle(t testing.TB, args map[string]any) (tools.Result, runtime.ProcessOutput) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res := b.do(t.Context(), b.process, raw)
	out, _ := res.Data.(runtime.ProcessOutput)
	return res, out
}

// report waits for the next report.
func (b *bench) report(t testing.TB) runtime.Report {
	t.Helper()
	select {
	case r := <-b.inbox.came:
		return r
	case <-t.Context().Done():
		t.Fatal("no report has come")
	}
	return runtime.Report{}
}

func (b *bench) run(t testing.TB, args map[string]any) (tools.Result, runtime.ExecOutput) {
	t.Helper()
	return b.runIn(t.Context(), t, args)
}

func (b *bench) runIn(ctx context.Context, t testing.TB, args map[string]any) (tools.Result, runtime.ExecOutput) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res := b.runRaw(ctx, raw)
	out, _ := res.Data.(runtime.ExecOutput)
	return res, out
}

// code is the exit code; -1 when there is none.
func code(out runtime.ExecOutput) int {
	if out.ExitCode == nil {
		return -1
	}
	return *out.ExitCode
}

func sh(command string) map[string]any { return map[string]any{"command": command} }

// gone waits until a process has ended; the test's own deadline is the limit.
func gone(t *testing.T, pid int) {
	t.Helper()
	for {
		err := syscall.Kill(pid, 0)
		if errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("process %d is still there", pid)
		default:
			goruntime.Gosched()
		}
	}
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}

func pids(t *testing.T, text string) []int {
	t.Helper()
	var out []int
	for _, w := range strings.Fields(text) {
		if n, ok := strings.CutPrefix(w, "pid="); ok {
			pid, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
	}
	return out
}
