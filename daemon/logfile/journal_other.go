//go:build !linux

package logfile

import "os"

// ToJournal is always false: this system has no systemd journal.
func ToJournal(*os.File, string) bool { return false }
