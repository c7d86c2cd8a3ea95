package disk_test

import (
	"path/filepath"
	"testing"

	"hob/daemon/disk"
)

func TestFree(t *testing.T) {
	if n, err := disk.Free(t.TempDir()); err != nil || n <= 0 || n > 1<<60 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := disk.Free(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Errorf("a folder that is not there has %d bytes", n)
	}
}
