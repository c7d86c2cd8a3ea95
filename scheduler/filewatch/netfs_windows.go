package filewatch

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// remote says that a folder lies on a file system that does not tell what others do on it: a share, or a drive that stands for one.
func remote(dir string) bool {
	volume := filepath.VolumeName(dir)
	if strings.HasPrefix(volume, `\\`) {
		return true
	}
	name, err := windows.UTF16PtrFromString(volume + `\`)
	return err == nil && windows.GetDriveType(name) == windows.DRIVE_REMOTE
}
