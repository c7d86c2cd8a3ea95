package daemon_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// npm returns the folder of a package. HOB_NPM is the folder node_modules in which .ci/run installs what tests need of npm; without it the test is skipped.
func npm(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(os.Getenv("HOB_NPM"), filepath.FromSlash(name))
	if _, err := os.Stat(filepath.Join(folder, "package.json")); err != nil || os.Getenv("HOB_NPM") == "" {
		systest.Missing(t, "HOB_NPM is not a folder node_modules with the package "+name)
	}
	return folder
}

// OpenAI's own client for Node talks to hob: in parallel, with repeated requests and with aborts.
func TestTheClientOfOpenAI(t *testing.T) {
	t.Parallel()
	folder := npm(t, "openai")
	systest.Program(t, "node")
	never := make(chan struct{})
	begun, begin := context.WithCancel(t.Context())
	defer begin()
	r, model := listen(t, "", func(q llmtest.Request) llmtest.Turn {
		turn := echo(q)
		switch {
		case strings.Contains(q.Last(), "slowly:"):
			hold := make(chan struct{})
			time.AfterFunc(2200*time.Millisecond, func() { close(hold) }) // longer than the client waits
			turn.Hold = hold
		case strings.Contains(q.Last(), "never:"):
			turn.Hold = never
			begin()
		case strings.HasSuffix(strings.TrimSpace(q.Last()), "] fail"):
			return llmtest.Failed(401, "no")
		}
		return turn
	})
	t.Cleanup(func() { close(never) })
	p := r.endpoint("npm")
	program := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "openai.mjs"), folder, "http://"+r.ready.Address+"/v1", p.token) // #nosec G204 -- the test's own program
	abort, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(begun, func() { _ = abort.Close() }) // the end of its input tells the program that the turn has begun
	out, err := program.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "passed\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	n, asked := 0, 0
	for _, row := range r.inputs() {
		if strings.HasPrefix(row.Text, "slowly:") {
			n++
		}
	}
	for _, q := range model.Requests() {
		if strings.Contains(q.Last(), "slowly:") {
			asked++
		}
	}
	if n != 1 || asked != 1 {
		t.Errorf("a request that the client repeated made %d inputs and %d requests to the model", n, asked)
	}
	// The program may end before hob has seen that it is gone.
	r.until("one turn is stopped", func() bool {
		turns, err := client.List(t.Context(), r.client, api.Turns, client.Filter{State: "stopped"})
		return err == nil && len(turns) == 1
	})
}
