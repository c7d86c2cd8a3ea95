package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/runtime"
)

// survivorCommands are the ways to leave something behind, and to multiply. Each of its processes carries token in its command line, and each
// command writes "ready" when all have begun.
func survivorCommands(token string) map[string]string {
	out := map[string]string{
		"a tree that grows":                 `echo 'n=$1; if [ $n -gt 0 ]; then bash t $((n-1)) TOKEN & bash t $((n-1)) TOKEN & fi; exec sleep 1000TOKEN' > t; bash t 5 TOKEN & sleep 0.5; echo ready`,
		"a tree that grows in new sessions": `echo 'n=$1; if [ $n -gt 0 ]; then setsid bash t $((n-1)) TOKEN & setsid bash t $((n-1)) TOKEN & fi; trap "" TERM HUP INT; exec sleep 1000TOKEN' > t; bash t 4 TOKEN & sleep 0.7; echo ready`,
		"each ends when the next has begun": `echo 'bash r TOKEN & sleep 0.01TOKEN' > r; bash r TOKEN & sleep 0.2; echo ready`,
	}
	for name, command := range leavers() {
		out[name] = command + "; echo ready"
	}
	for name, command := range out {
		out[name] = strings.NewReplacer("sleep 1000TOKEN", "sleep "+token, "sleep 1000", "sleep "+token, "0.01TOKEN", "0.01", "TOKEN", token).Replace(command)
	}
	return out
}

// survivors are the processes with token in their command line.
func survivors(t *testing.T, token string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range lines {
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, []byte(token)) {
			continue // gone
		}
		out = append(out, strings.ReplaceAll(string(raw), "\x00", " "))
	}
	return out
}

// extinct waits until there are no survivors.
func extinct(t *testing.T, token string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if left = survivors(t, token); len(left) == 0 {
			return
		}
	}
	t.Errorf("%d survivors: %.300q", len(left), left)
}

// token is a number of seconds that no other sleep has.
func token(n int) string { return fmt.Sprintf("%d.%d", 1000+n, os.Getpid()) }

func TestZoo(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees the same code in the other tests")
	}
	n := 0
	for name, command := range survivorCommands("TOKEN") {
		for where, b := range map[string]*bench{"in the sandbox": sandboxed(t, false), "outside": newBench(t, runtime.Limits{Grace: 50 * time.Millisecond})} {
			t.Run(name+" "+where, func(t *testing.T) {
				n++
				token := token(n)
				if res, out := b.run(t, sh(strings.ReplaceAll(command, "TOKEN", token))); res.IsError || !strings.HasSuffix(out.Output, "ready\n") {
					t.Fatalf("%+v", res)
				}
				if left := survivors(t, token); len(left) > 0 {
					t.Errorf("%d survivors: %.300q", len(left), left)
				}
				id := b.background(t, strings.ReplaceAll(command, "TOKEN", token)+"; read x")
				b.poll(t, id, "filter", "ready")
				if len(survivors(t, token)) == 0 {
					t.Error("nothing was there to be ended")
				}
				b.handle(t, map[string]any{"action": "kill", "process_id": id})
				if left := survivors(t, token); len(left) > 0 {
					t.Errorf("%d survivors: %.300q", len(left), left)
				}
			})
		}
	}
}

// TestLeftProcessesAreCounted leaves two processes in the command's session and one in its own, which only its mark gives away. The
// command has just started, so they are found by their ids.
func TestLeftProcessesAreCounted(t *testing.T) {
	b, token := newBench(t, runtime.Limits{Grace: 50 * time.Millisecond}), token(500)
	res, out := b.run(t, sh(strings.ReplaceAll("sleep TOKEN >/dev/null 2>&1 & sleep TOKEN >/dev/null 2>&1 & setsid sleep TOKEN >/dev/null 2>&1 & echo ready", "TOKEN", token)))
	if res.IsError || out.Output != "ready\n" || !strings.Contains(res.Content, "3 processes that it left running were ended") {
		t.Errorf("%+v", res)
	}
	extinct(t, token)
}

// zooHob is what this program is when it plays a hob that will be killed: it runs the command of its argument, and says when
// that has begun.
const zooHob = "HOB_TEST_ZOO"

func playHob() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g, err := fsguard.New(fsguard.Config{Workspace: dir, State: filepath.Join(dir, "state"), Home: filepath.Join(dir, "home")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	d := runtime.ExecDeps{Guard: g, Spawn: sys.NewGroup(slog.Default(), nil), Instance: os.Getenv(zooHob), Environ: os.Environ()}
	if len(os.Args) > 2 {
		path, err := os.Executable()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		d.Sandbox = sandbox.New(ctx, sandbox.Config{Mode: sandbox.Require, Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state"), Self: path})
	}
	call := tools.Call{ID: "t1_1", Workdir: dir, Args: []byte(fmt.Sprintf(`{"command": %q}`, os.Args[1]))}
	e := runtime.NewExec(d)
	intent, err := e.Intent(ctx, call)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	res, err := e.Run(ctx, call, intent)
	fmt.Println(res.Content, err)
	return 1
}

// A hob that is killed takes with it what ran in the sandbox; what ran outside of it is found when hob starts again.
func TestZooAfterHobWasKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees the same code in the other tests")
	}
	n := 100
	for name, command := range survivorCommands("TOKEN") {
		for where, box := range map[string][]string{"in the sandbox": {"boxed"}, "outside": nil} {
			t.Run(name+" "+where, func(t *testing.T) {
				if box != nil {
					sandboxed(t, false) // or skip
				} else if strings.Contains(name, "cleared environment") {
					t.Skip("outside the sandbox it is only known by the session of a shell that is gone")
				}
				n++
				token := token(n)
				dir := t.TempDir()
				instance := fmt.Sprintf("zoo-%d-%d", os.Getpid(), n)
				cmd := osexec.Command(os.Args[0], append([]string{strings.ReplaceAll(command, "TOKEN", token) + " > begun; sleep " + token}, box...)...) //nolint:gosec // this test
				cmd.Dir, cmd.Env = dir, append(os.Environ(), zooHob+"="+instance)
				out, err := cmd.StdoutPipe()
				if err = errors.Join(err, cmd.Start()); err != nil {
					t.Fatal(err)
				}
				for text := ""; !strings.Contains(text, "ready\n"); <-time.After(5 * time.Millisecond) {
					begun, err := os.ReadFile(filepath.Join(dir, "begun")) // a sandbox sees no FIFO of the machine
					if text = string(begun); err != nil && !errors.Is(err, fs.ErrNotExist) || t.Context().Err() != nil {
						t.Fatal(err)
					}
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if said, err := bufio.NewReader(out).ReadString('\n'); err == nil {
					t.Errorf("hob said %q", said)
				}
				_ = cmd.Wait() // it was killed
				if box == nil {
					if _, err := runtime.KillOrphans(t.Context(), instance); err != nil {
						t.Error(err)
					}
				}
				extinct(t, token)
			})
		}
	}
}
