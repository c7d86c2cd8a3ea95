//go:build linux

package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/mcp/mcptest"
)

// mcpRig is a home with two MCP servers: a program, which ignores SIGTERM and has started another one, and a service.
type mcpRig struct {
	*harness
	servers map[string]*mcptest.Server
	script  mcptest.Script
}

func newMCPRig(t *testing.T) *mcpRig {
	t.Helper()
	script := mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("do", "Does it.")}, IgnoreTERM: true, Child: true}
	r := &mcpRig{harness: newHarness(t, options{bin: binary(t, tested), seed: *seed, bare: true}), servers: map[string]*mcptest.Server{}, script: script}
	r.servers["program"], r.servers["service"] = mcptest.New(t, script), mcptest.New(t, script)
	file := filepath.Join(r.home, "config.toml")
	text, err := os.ReadFile(file) // #nosec G304 -- the test's own
	if err != nil {
		t.Fatal(err)
	}
	sections := fmt.Sprintf("[mcp.servers.program]\ncommand = %q\nenv = { MCPTEST = %q }\n[mcp.servers.service]\nurl = %q\n", os.Args[0], r.servers["program"].Dir(), r.servers["service"].URL)
	if err := os.WriteFile(file, append(text, sections...), 0o600); err != nil {
		t.Fatal(err)
	}
	r.up()
	c, err := r.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name := range r.servers {
		offer, err := client.Do(context.Background(), c, api.TestMCP, name, api.None{})
		if err == nil {
			_, err = client.Do(context.Background(), c, api.AcceptMCP, name, api.MCPHash{Hash: offer.Hash})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// called counts the calls that a server has got, by what they were made for.
func (r *mcpRig) called(name string) map[string]int {
	n := map[string]int{}
	for _, raw := range r.servers[name].Got("tools/call") {
		n[about.FindString(string(raw))]++
	}
	return n
}

var about = regexp.MustCompile(`\b(program|service)-\d+\b`)

// A call of an MCP server that hob has sent before it was killed is never made again, and the turn is told that nobody knows its effect. No
// process of a server outlives hob, however stubborn it is.
func TestMCPUnderKills(t *testing.T) {
	t.Parallel()
	r := newMCPRig(t)
	n := 0
	for name, server := range r.servers {
		n++
		token := fmt.Sprintf("%s-%d", name, n)
		hang := r.script
		hang.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Hang}
		server.Play(hang)
		r.say(token, "main", "please do "+token)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.feed(ctx, r.proc.gone)
		}()
		there := until(reachTime, func() bool { return r.called(name)[token] == 1 })
		stop()
		<-done
		if !there {
			t.Fatalf("%s was never called\n%s", name, r.proc.said)
		}
		r.kill()
		server.Play(r.script)
		r.up()
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
	}

	// The same at any moment, with servers that answer.
	rng := rand.New(rand.NewPCG(*seed, 17)) // #nosec G404 -- to be repeated
	for range min(*kills, 40) / 4 {
		n += 2
		for i, name := range []string{"program", "service"} {
			token := fmt.Sprintf("%s-%d", name, n+i)
			r.say(token, fmt.Sprintf("s%d", i), "please do "+token)
		}
		ctx, stop := context.WithCancel(context.Background())
		go r.feed(ctx, r.proc.gone)
		<-time.After(time.Duration(rng.IntN(400)) * time.Millisecond)
		stop()
		r.kill()
		r.up()
	}
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	b := r.readRecords()
	unknown := map[string]bool{}
	for _, row := range b.rows(`SELECT c.args FROM items c JOIN items r ON r.call_id = c.call_id AND r.turn = c.turn AND r.kind = 'result' WHERE c.kind = 'call' AND r.parts LIKE '%unknown%'`) {
		unknown[about.FindString(row[0])] = true
	}
	for name := range r.servers {
		for token, times := range r.called(name) {
			if times > 1 {
				t.Errorf("%s was called %d times for %s", name, times, token)
			}
		}
	}
	for _, token := range []string{"program-1", "program-2", "service-1", "service-2"} {
		if name := strings.Split(token, "-")[0]; r.called(name)[token] == 1 && !unknown[token] {
			t.Errorf("the turn was not told that the effect of %s is unknown: %v", token, b.rows("SELECT kind, tool, args, parts FROM items WHERE kind IN ('call', 'result')"))
		}
	}
	if left := slices.Collect(func(yield func(int) bool) {
		for pid := range children(r.home) {
			yield(pid)
		}
	}); len(left) > 0 {
		t.Errorf("processes %v have outlived hob", left)
	}
	_, broken := r.check()
	for _, why := range broken {
		t.Error(why)
	}
	t.Logf("%d kills, %d calls, %d of them unknown", r.crashes, len(r.called("program"))+len(r.called("service")), len(unknown))
}
