package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"hob/daemon/mcpserver"
)

// TestLines wants an error for each line that is no message, and a session that goes on.
func TestLines(t *testing.T) {
	t.Parallel()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.SystemInfo(context.WithoutCancel(t.Context()), "1", fromClient, toClient)
	}()
	answers := bufio.NewReader(out)
	for i, c := range []struct {
		line string
		code int // of the error that is wanted; 0 for none
	}{
		{"{broken", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, 0},
		{"\n\r\n" + `  {"jsonrpc":"2.0","id":2,"method":"ping"} ` + "\t\r", 0},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"} {"jsonrpc":"2.0","id":4,"method":"ping"}`, -32700},
		{"\xff\xfe", -32700},
		{"5", -32600},
		{"[]", -32600},
		{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, -32600},
		{`{"jsonrpc":"2.0","id":6,"method":"ping","x":"` + strings.Repeat("a", 17<<20) + `"}`, -32600},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, 0},
	} {
		go func() { _, _ = fmt.Fprintln(in, c.line) }() // an error shows as a missing answer
		line, err := answers.ReadBytes('\n')
		if err != nil {
			t.Fatalf("line %d, %.40q: %v", i, c.line, err)
		}
		var got struct {
			Error struct{ Code int }
		}
		if err := json.Unmarshal(line, &got); err != nil || got.Error.Code != c.code {
			t.Errorf("line %d, %.40q: %s, %v, want the code %d", i, c.line, line, err, c.code)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
