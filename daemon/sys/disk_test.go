package sys_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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

// Errors of files are explained without the words of the system and without paths. Other errors are not touched.
func TestDiskProblem(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EROFS:       "the disk is mounted read-only; mount it with write access",
		syscall.EACCES:      "access to the file is denied; look at its owner and permissions with ls -l, and change them with chown or chmod",
		syscall.EDQUOT:      "the disk quota of the user is used up; free some space",
		fs.ErrNotExist:      "it was moved or removed meanwhile; ",
		syscall.EIO:         syscall.EIO.Error() + "; ",
		errors.New("cause"): "cause; ",
	} {
		for _, wrapped := range []error{&fs.PathError{Op: "open", Path: "/secret", Err: err}, &os.LinkError{Op: "link", Old: "/secret", New: "/other", Err: err}} {
			if text, hint := sys.DiskProblem(fmt.Errorf("write: %w", wrapped)); text+"; "+hint != want {
				t.Errorf("%v is %q, %q", err, text, hint)
			}
		}
	}
	if text, hint := sys.DiskProblem(errors.New("no such file")); text+hint != "" {
		t.Errorf("another error is %q, %q", text, hint)
	}
}
