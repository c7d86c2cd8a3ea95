package main_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/channels/channelstest"
	main "hob/cmd/hob"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // the stories wait most of the time; the command line counts all the same
		panic(err)
	}
	testscript.Main(m, map[string]func(){"hob": main.Main})
}

// TestScripts runs the stories in testdata with the real main. Each has a home of its own; "up" starts a daemon in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			home, err := os.MkdirTemp("", "hob") // short enough for a socket
			if err != nil {
				return err
			}
			e.Defer(func() {
				if err := os.RemoveAll(home); err != nil {
					t.Error(err)
				}
			})
			e.Setenv("HOB_HOME", filepath.Join(home, "h"))
			e.Setenv("HOME", home)
			e.Setenv("TZ", "UTC")
			if imports, err := filepath.Abs("importer/testdata"); err == nil {
				e.Setenv("IMPORTS", imports) // folders of other programs
			}
			for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "HTTPS_PROXY"} { // how this machine reaches a registry
				if v := os.Getenv(name); v != "" && os.Getenv("HOB_NPM") != "" {
					e.Setenv(name, v)
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "sandbox":
				return systest.Sandbox(), nil
			case "npm": // and a registry that can be reached
				return os.Getenv("HOB_NPM") != "", nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"answering": answering, "exits": exits, "code": code, "eventually": eventually, "logged": logged, "modelserver": modelServer, "ntfyserver": ntfyServer,
			"looking": looking, "ran": ran, "comes": comes, "said": said, "away": away, "spoil": spoil, "documents": documents, "goproxy": goProxy, "caldavserver": caldavServer, "services": accountServices,
		},
	})
}

// answering waits until the daemon of the script's home answers.
func answering(ts *testscript.TestScript, _ bool, _ []string) {
	until(ts, "a daemon answers", func() bool {
		_, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
		return err == nil
	})
}

// modelServer starts a server that can do chores and answers everything with one sentence, and puts its address into $MODEL_URL.
func modelServer(ts *testscript.TestScript, _ bool, _ []string) {
	s := llmtest.NewServer()
	s.Otherwise(tried)
	ts.Defer(s.Close)
	ts.Setenv("MODEL_URL", s.URL)
}

// tried is a model that passes the trial of hob model test, and answers everything else with one sentence. It can write its thinking into the text.
func tried(r llmtest.Request) llmtest.Turn {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == "tool":
		return llmtest.Streamed(llmtest.Say("The receipt is 731."))
	case strings.HasPrefix(last.Content, "Report the number"):
		return llmtest.Streamed(llmtest.Use("report_number", `{"number":4817}`))
	case strings.Contains(last.Content, "think first"):
		return llmtest.Streamed(llmtest.Say("<think>I am thinking.</think>I have thought."))
	case strings.Contains(last.Content, "recite your key"): // in two pieces
		return llmtest.Turn{Raw: `data: {"choices":[{"index":0,"delta":{"content":"It is canary-"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"content":"4711-key."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"}
	}
	return llmtest.Streamed(llmtest.Say("Hello from the scripted model."))
}

// ntfyServer starts an ntfy server, and names it in $NTFY_URL.
func ntfyServer(ts *testscript.TestScript, _ bool, _ []string) {
	n, err := channelstest.NewNtfy("")
	ts.Check(err)
	ts.Defer(n.Close)
	ts.Setenv("NTFY_URL", n.URL())
}

// eventually waits until a file is there.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, args[0]+" exists", func() bool {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		return err == nil && len(found) > 0
	})
}

// logged waits until the log holds a line that matches.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	line := regexp.MustCompile(args[0])
	until(ts, "the log says "+args[0], func() bool {
		return ts.Exec("hob", "logs") == nil && line.MatchString(ts.ReadFile("stdout"))
	})
}

func until(ts *testscript.TestScript, what string, reached func() bool) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	end := time.After(20 * time.Second)
	for !reached() {
		select {
		case <-look.C:
		case <-end:
			ts.Fatalf("%s: not within 20 s", what)
		}
	}
}

// code puts the code of the open question whose text holds a word into $CODE.
func code(ts *testscript.TestScript, _ bool, args []string) {
	c, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false)
	ts.Check(err)
	open, err := client.List(context.Background(), c, api.Questions, client.Filter{State: "open"})
	ts.Check(err)
	for _, q := range open {
		if strings.Contains(q.Text, args[0]) {
			ts.Setenv("CODE", q.Code)
			return
		}
	}
	ts.Fatalf("no open question has %q in it", args[0])
}

// exits runs a command and compares its exit code: exits CODE COMMAND….
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
