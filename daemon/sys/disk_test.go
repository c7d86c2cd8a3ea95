package sys_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/sys"
)

func TestFree(t *testing.T) {
	if n, err := sys.DiskFree(t.TempDir()); err != nil || n <= 0 || n > 1<<60 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := sys.DiskFree(filepath.Join(t.TempDir(), "nowhere")); err == nil {
		t.Errorf("a folder that is not there has %d bytes", n)
	}
}

func TestOwner(t *testing.T) {
	if uid, mine, err := sys.FileOwner(t.TempDir()); err != nil || !mine {
		t.Errorf("my own folder: %d, %v, %v", uid, mine, err)
	}
	if _, _, err := sys.FileOwner(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
