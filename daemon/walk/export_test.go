//go:build linux

package walk

import "golang.org/x/sys/unix"

// UnknownKind is the kind of a name in a folder of a file system whose lists do not tell it.
func UnknownKind(d *Dir, name string) Kind { return d.file.kind(unix.DT_UNKNOWN, name) }
