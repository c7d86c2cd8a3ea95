package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys/systest"
)

// Hob passes every server scenario that a revision of the protocol requires, by the suite of its authors (npm @modelcontextprotocol/conformance). The suite
// wants tools, prompts and resources of its own. They are those of the SDK's server for this suite, compiled into a hob that is made for this test: no
// release has them.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	node, suite := npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	program := withFixtures(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			address := serve(t, program)
			cmd := exec.CommandContext(t.Context(), node, suite, "server", "--url", address+"/mcp", "--requirements", revision) // #nosec G204 -- the test's own programs
			cmd.Dir = t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// npm returns Node and a file of a package. HOB_NPM is the folder node_modules in which .ci/run installs what tests need of npm; without it the test is
// skipped.
func npm(t *testing.T, file string) (node, path string) {
	t.Helper()
	modules := os.Getenv("HOB_NPM")
	node, path = filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, filepath.FromSlash(file))
	for _, needed := range []string{node, path} {
		if _, err := os.Stat(needed); err != nil || modules == "" {
			systest.Missing(t, "HOB_NPM is not a folder node_modules with the packages node@22 and "+file)
		}
	}
	return node, path
}

// withFixtures builds hob with the features that the suite asks for.
func withFixtures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	where := output(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk")
	source, err := os.ReadFile(filepath.Join(where, "conformance", "everything-server", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(source), "package main", "//go:build mcpfixtures\n\npackage mcpserver", 1)
	text = regexp.MustCompile(`(?s)var \(\n\thttpAddr.*?\n\)\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?s)func main\(\) \{.*?\n\}\n`).ReplaceAllString(text, `
func options(log *slog.Logger) mcp.ServerOptions {
	return mcp.ServerOptions{Logger: log, CompletionHandler: completionHandler, SubscribeHandler: subscribeHandler, UnsubscribeHandler: unsubscribeHandler}
}

func fixtures(s *mcp.Server) {
	registerTools(s)
	registerResources(s)
	registerPrompts(s)
	go watchedResourceUpdater(context.Background(), s)
}
`)
	for _, name := range []string{"flag", "net/http", "os", "log"} {
		text = strings.Replace(text, "\t\""+name+"\"\n", "", 1)
	}
	text = strings.Replace(text, "\t\"strings\"\n", "\t\"log/slog\"\n\t\"strings\"\n", 1)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	added, overlay := filepath.Join(dir, "fixtures.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "fixtures_conformance.go"): added}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{added: []byte(text), overlay: list} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "hob")
	output(t, "go", "build", "-trimpath", "-tags", "mcpfixtures", "-overlay", overlay, "-o", program, "hob/cmd/hob")
	return program
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...) // #nosec G204 -- the test's own words
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// wrapper makes a program that runs hob mcp serve for a home: clients pass no environment on.
func wrapper(t *testing.T, program, home string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "serve")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexec '"+program+"' --home '"+home+"' mcp serve\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	return file
}

// start starts hob, and ends it with the test.
func start(t *testing.T, program, home string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	up := exec.CommandContext(ctx, program, "--home", home, "up", "--no-chat", "--listen", "127.0.0.1:0") // #nosec G204 -- the test's own program
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	up.WaitDelay = 20 * time.Second
	ready, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, ready) // so that it never waits for a reader
		ended <- up.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// serve starts hob, and something before it that adds the token of a client: the suite has none. It returns the address for the suite.
func serve(t *testing.T, program string) string {
	t.Helper()
	home := t.TempDir()
	start(t, program, home)
	var made struct{ URL, Token string }
	if err := json.Unmarshal([]byte(output(t, program, "--home", home, "--json", "endpoint", "add", "suite")), &made); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(strings.TrimSuffix(made.URL, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	var own string
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("Authorization", "Bearer "+made.Token)
		// What the suite says wrongly on purpose must reach hob as it is.
		r.Out.Host = strings.Replace(r.In.Host, own, target.Host, 1)
		if origin := r.In.Header.Get("Origin"); origin != "" {
			r.Out.Header.Set("Origin", strings.Replace(origin, own, target.Host, 1))
		}
	}, Transport: &http.Transport{}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The body is read whole first. net/http closes it when the answer begins, and a proxy that has not seen its end then cuts the stream of the answer off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	own = strings.TrimPrefix(front.URL, "http://")
	return front.URL
}
