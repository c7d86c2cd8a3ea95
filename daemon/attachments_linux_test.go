package daemon_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/event"
)

// A disk that fills up in the middle: the message is refused with a hint, and nothing of it is left.
func TestAttachmentsOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	home := filepath.Join(disk, "home")
	r := start(t, home)
	if _, err := r.client.Post(t.Context(), attach("", "say: hi", "x", "held")); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 7<<20)
	_, err := r.client.Post(t.Context(), attach("big", "say: big", "a", big, "b", big)) // 28 MB with the copies
	refused(t, err, event.Unavailable, "the disk is full")
	if got := copies(t, home); got != "1/ 1/x=held" || shelved(t, home) != "held" {
		t.Errorf("left behind: %.80s", got)
	}
	if _, err := r.client.Post(t.Context(), attach("big", "say: big", "a", "small")); err != nil {
		t.Errorf("the same message, now that it fits: %v", err)
	}
	// The disk is full to the last byte: not even the folder's number can be stored.
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(filler, strings.NewReader(strings.Repeat(big, 4)))
	if closed := filler.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		t.Fatalf("the disk does not fill up: %v, %v", err, closed)
	}
	_, err = r.client.Post(t.Context(), attach("", "say: hi", "y", big))
	refused(t, err, event.Unavailable, "the disk is full")
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	if text := r.say("say: still here"); text != "still here" {
		t.Errorf("it answers %q", text)
	}
}
