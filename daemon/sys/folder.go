package sys

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// SyncFolder makes the names in a folder durable, so that a rename in it survives a power failure. Windows has no such call; its file
// systems keep a rename without it.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return syncAndClose(os.Open(dir))
}

// SyncFolderIn is SyncFolder for the folder with a name inside root.
func SyncFolderIn(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return syncAndClose(root.Open(name))
}

func syncAndClose(f *os.File, err error) error {
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system without fsync for folders
		err = nil
	}
	return errors.Join(err, f.Close())
}
