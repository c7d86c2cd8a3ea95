package record_test

import (
	"strings"
	"syscall"
	"testing"
)

// A full disk ends the recording, and only that: requests go on, and what is complete in the file can be read.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	h := newHob(t, disk)
	file := h.start(t).File
	for range 3 {
		if h.send(t, says(strings.Repeat("a", 30<<10)), "question") == "" {
			t.Error("the answer is lost")
		}
	}
	if s := h.Show(); s.Ended.IsZero() || !strings.Contains(s.Why, "no space left") || !strings.Contains(h.log.String(), "no space left") {
		t.Errorf("%+v; the log has %s", s, h.log.String())
	}
	if l, _ := read(t, file); l.Cut == "" || len(l.Entries) != 5 {
		t.Errorf("%d entries, cut %q", len(l.Entries), l.Cut)
	}
}
