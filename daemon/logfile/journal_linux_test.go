package logfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hob/daemon/logfile"
)

func TestToJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]bool{
		fmt.Sprintf("%d:%d", st.Dev, st.Ino): true, fmt.Sprintf("%d:%d", st.Dev, st.Ino+1): false, "": false, "nonsense": false,
	} {
		if got := logfile.ToJournal(f, stream); got != want {
			t.Errorf("%q: %v", stream, got)
		}
	}
}
