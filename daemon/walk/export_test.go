//go:build linux

package walk

import "golang.org/x/sys/unix"

// UnknownKind returns the kind of a name on a file system that does not report types in folder listings.
func UnknownKind(d *Dir, name string) Kind { return d.file.kind(unix.DT_UNKNOWN, name) }
