// This file reports the free space of a file system, the owner of a file and whether a file may be written, and puts errors of files in words. It reads
// and writes no file.

package sys

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// NamedDiskProblem is DiskProblem with the path of the file or folder to which access is denied, for somebody who may know it.
func NamedDiskProblem(err error) (text, hint string) {
	text, hint = DiskProblem(err)
	var at *fs.PathError
	if errors.Is(err, fs.ErrPermission) && errors.As(err, &at) {
		text = "access to " + at.Path + " is denied"
	}
	return text, hint
}

// DiskProblem puts an error of reading or writing a file in words, without its path: what is wrong, and a hint if there is one. It returns "" for
// any other error.
func DiskProblem(err error) (text, hint string) {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, errFull):
		return "the disk is full", "free some space"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota of the user is used up", "free some space"
	case errors.Is(err, syscall.EROFS):
		return "the disk is mounted read-only", "mount it with write access"
	case errors.Is(err, fs.ErrPermission):
		return "access to the file is denied", "look at its owner and permissions with ls -l, and change them with chown or chmod"
	case errors.Is(err, fs.ErrNotExist):
		return "it was moved or removed meanwhile", ""
	case errors.As(err, &path):
		return path.Err.Error(), ""
	case errors.As(err, &link):
		return link.Err.Error(), ""
	}
	return "", ""
}
