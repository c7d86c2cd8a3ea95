package filewatch

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// remote reports whether a folder is on a file system that does not report changes by other machines: a share, or a drive mapped to one.
func remote(dir string) bool {
	volume := filepath.VolumeName(dir)
	if strings.HasPrefix(volume, `\\`) {
		return true
	}
	name, err := windows.UTF16PtrFromString(volume + `\`)
	return err == nil && windows.GetDriveType(name) == windows.DRIVE_REMOTE
}
