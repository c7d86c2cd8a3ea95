//go:build unix

package secret_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/secret"
)

func TestCommand(t *testing.T) {
	t.Setenv("HOB_MODEL__API_KEY", "canary-in-hob")
	t.Setenv("PLAIN_VARIABLE", "seen")
	tests := []struct{ ref, want, fault string }{
		{ref: "cmd:printf '  value \\n\\n'", want: "value"},
		{ref: "cmd:echo $PLAIN_VARIABLE$HOB_MODEL__API_KEY", want: "seen"},
		{ref: "cmd:echo one; echo two", want: "one\ntwo"},
		{ref: "cmd:true", fault: "is empty"},
		{ref: "cmd:echo canary-out; echo why >&2; exit 3", fault: "exit status 3: why"},
		{ref: "cmd:no-such-program-here --token canary-arg", fault: "cmd: no-such-program-here: exit status 127"},
		{ref: "cmd:head -c 70000 /dev/zero", fault: "more than 64 KB of output is too long for a secret"},
	}
	for _, tt := range tests {
		got, err := secret.Resolver{}.Resolve(t.Context(), "x", tt.ref)
		switch {
		case tt.fault == "" && (err != nil || got != tt.want):
			t.Errorf("%q: got %q, %v; want %q", tt.ref, got, err, tt.want)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), "canary-out")):
			t.Errorf("%q: got %.80q, error %v; want an error with %q", tt.ref, got, err, tt.fault)
		}
	}
}

// holder starts a command whose grandchild keeps a pipe open. It returns the command's reference, a channel that closes when the
// grandchild has opened the pipe, and one that closes when the grandchild has ended.
func holder(t *testing.T, after string) (ref string, opened, gone chan struct{}) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, gone = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		f, err := os.Open(pipe) // blocks until the other end is open
		close(opened)
		if err == nil {
			_, err = io.ReadAll(f) // ends with the last writer
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	return "cmd:(exec 3>" + pipe + " >/dev/null 2>&1; sleep 1000) & " + after, opened, gone
}

func TestCancelledCommandEndsWithItsChildren(t *testing.T) {
	ref, opened, gone := holder(t, "wait")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-opened
		cancel()
	}()
	if _, err := (secret.Resolver{}).Resolve(ctx, "x", ref); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want it to be cancelled", err)
	}
	<-gone
}

func TestFinishedCommandLeavesNoChildren(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ref, opened, gone := holder(t, "read line <"+pipe+"; echo value")
	go func() {
		<-opened
		if err := os.WriteFile(pipe, []byte("go\n"), 0o600); err != nil {
			t.Error(err)
		}
	}()
	if got, err := (secret.Resolver{}).Resolve(t.Context(), "x", ref); err != nil || got != "value" {
		t.Errorf("got %q, %v", got, err)
	}
	<-gone
}
