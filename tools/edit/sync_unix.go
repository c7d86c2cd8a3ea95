//go:build unix

package edit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync the folder of the edit journal: %w", err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // this file system has no fsync for folders
		err = nil
	}
	return errors.Join(err, d.Close())
}
