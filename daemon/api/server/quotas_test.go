package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/server"
)

// A program may make some calls at once and in a minute; others are not affected.
func TestQuotas(t *testing.T) {
	q := &server.Quotas{}
	a, b := api.Endpoint{ID: 1, CallsPerMinute: 60}, api.Endpoint{ID: 2, CallsPerMinute: 60}
	ends := []func(){}
	for i := range 8 {
		end, err := q.Begin(a, 0)
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		ends = append(ends, end)
	}
	if _, err := q.Begin(a, 0); err == nil {
		t.Error("nine calls at the same time")
	}
	if _, err := q.Begin(b, 0); err != nil {
		t.Errorf("another program: %v", err)
	}
	for _, end := range ends {
		end()
		end() // twice is once
	}
	calls := func(now time.Duration) (n int) {
		for {
			end, err := q.Begin(a, now)
			if err != nil {
				return n
			}
			end()
			n++
		}
	}
	if n := calls(0); n != 52 {
		t.Errorf("%d more calls in the first minute", n)
	}
	if n := calls(5 * time.Second); n != 5 {
		t.Errorf("%d calls five seconds later", n)
	}
	if n := calls(24 * time.Hour); n != 60 {
		t.Errorf("%d calls a day later", n)
	}
}

func TestFull(t *testing.T) {
	dir := t.TempDir()
	check := func(what, folder string, want bool) {
		if got, err := server.Full(folder); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	check("not there", filepath.Join(dir, "none"), false)
	check("empty", dir, false)
	big := filepath.Join(dir, "a", "big")
	if err := os.MkdirAll(filepath.Dir(big), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]bool{100 << 20: false, 100<<20 + 1: true} {
		if err := os.Truncate(big, size); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprint(size, " bytes"), dir, want)
	}
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := os.WriteFile(filepath.Join(dir, "a", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("many files", dir, true)
}
