package sandbox_test

import (
	"context"
	"os"
	"testing"
)

// TestMain lets the test binary play other programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__attack" {
		os.Exit(attack(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "__parent" {
		os.Exit(startAndWait(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "__setid" {
		os.Exit(setAll(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "__state" {
		os.Exit(sayState(os.Args[2]))
	}
	os.Exit(m.Run())
}

// testContext is the context of processes that run no tests.
func testContext() context.Context { return context.Background() }
