package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"hob/daemon/mcp"
	"hob/daemon/sys"
)

// A connection that is made after its caller has given up is closed; one that the caller gets stays open.
func TestLateConnection(t *testing.T) {
	t.Parallel()
	spawn := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	late := make(chan string, 1)
	if got, err := mcp.Within(t.Context(), spawn, func(v string) { late <- v }, func() (string, error) { return "in time", nil }); got != "in time" || err != nil || len(late) != 0 {
		t.Errorf("%q, %v, %d closed", got, err, len(late))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hold := make(chan struct{})
	got, err := mcp.Within(ctx, spawn, func(v string) { late <- v }, func() (string, error) { <-hold; return "late", nil })
	if got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
	close(hold)
	if v := <-late; v != "late" {
		t.Errorf("%q was closed", v)
	}
}
