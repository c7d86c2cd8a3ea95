package logfile

import (
	"fmt"
	"os"
	"syscall"
)

// ToJournal reports whether a stream is connected to systemd's journal. stream is $JOURNAL_STREAM, "device:inode" (systemd.exec(5)).
// Terminals inherit that variable from a desktop's services, so the file itself is compared.
func ToJournal(f *os.File, stream string) bool {
	info, err := f.Stat()
	if err != nil || stream == "" {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
