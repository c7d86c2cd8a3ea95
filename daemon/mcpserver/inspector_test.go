package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspector is a client that hob's authors did not write, by its command line.
type inspector struct {
	t           *testing.T
	node, index string
	server      []string
}

// ask makes one request and decodes the answer.
func (i inspector) ask(into any, args ...string) {
	i.t.Helper()
	cmd := exec.CommandContext(i.t.Context(), i.node, append(append([]string{i.index}, i.server...), args...)...) // #nosec G204 -- the test's own programs
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		i.t.Fatalf("%v: %v\n%s\n%s", args, err, out, said.String())
	}
}

type offered struct {
	Tools []struct{ Name string }
}

type called struct {
	Content           []struct{ Text string }
	StructuredContent map[string]any
	IsError           bool
}

func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	node, index := npm(t, "@modelcontextprotocol/inspector/cli/build/index.js")
	program := filepath.Join(t.TempDir(), "hob")
	output(t, "go", "build", "-trimpath", "-o", program, "hob/cmd/hob")
	home := t.TempDir()
	start(t, program, home)

	var list offered
	var got called
	about := inspector{t, node, index, []string{program, "mcp", "system-info"}}
	about.ask(&list, "--method", "tools/list")
	if len(list.Tools) != 3 {
		t.Errorf("tools %+v", list)
	}
	for tool, key := range map[string]string{"system_info": "cpus", "disk_info": "disks", "network_info": "interfaces"} {
		got = called{}
		about.ask(&got, "--method", "tools/call", "--tool-name", tool)
		if got.IsError || got.StructuredContent[key] == nil {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	hob := inspector{t, node, index, []string{wrapper(t, program, home)}}
	list, got = offered{}, called{}
	hob.ask(&list, "--method", "tools/list")
	if len(list.Tools) < 30 {
		t.Errorf("%d tools", len(list.Tools))
	}
	hob.ask(&got, "--method", "tools/call", "--tool-name", "ls", "--tool-arg", "path=.")
	if got.IsError || got.StructuredContent["path"] != filepath.Join(home, "workspace") {
		t.Errorf("ls: %+v", got)
	}
	got = called{}
	hob.ask(&got, "--method", "tools/call", "--tool-name", "write", "--tool-arg", "path=a.txt", "content=x")
	if !got.IsError || !strings.Contains(got.Content[0].Text, "question 1:") {
		t.Errorf("write: %+v", got)
	}
}
