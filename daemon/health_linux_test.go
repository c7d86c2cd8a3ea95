package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/api/client"
)

// R3, R6: while the disk is full, health and status say so, and input is refused; when there is room again hob goes on by itself, and the owner
// is told once.
func TestHealthOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := start(t, filepath.Join(disk, "home"))
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 24<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if status, components, state, _ := r.health(); status != 503 || !strings.Contains(components["reason"], "the disk is full") || state != "degraded" {
		t.Errorf("before anything is written: %d %v %s", status, components, state)
	}
	var p *client.Problem
	r.until("input is refused", func() bool {
		_, err := r.client.Post(t.Context(), client.Message{Text: "say: " + strings.Repeat("x", 100_000)})
		return errors.As(err, &p)
	})
	if p.Status != 503 || !strings.Contains(p.Detail, "full") {
		t.Errorf("refused with %+v", p)
	}
	if status, components, _, trouble := r.health(); status != 503 || len(trouble) == 0 {
		t.Errorf("on a full disk: %d %v %q", status, components, trouble)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r.until("hob is healthy again", func() bool {
		status, _, state, _ := r.health()
		return status == 200 && state != "degraded"
	})
	if text := r.say("say: still here"); text != "still here" {
		t.Errorf("it answers %q", text)
	}
	r.until("the owner is told", func() bool { return len(r.notices()) > 0 })
	if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], "hob could not write to its disk from ") {
		t.Errorf("told %q", got)
	}
}
