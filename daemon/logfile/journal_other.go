//go:build !linux

package logfile

import "os"

// ToJournal reports whether a stream is connected to systemd's journal, which this system does not have.
func ToJournal(*os.File, string) bool { return false }
