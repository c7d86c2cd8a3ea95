package main_test

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is one of a width, and what is shown on it once it is closed.
func terminal(t *testing.T, columns uint16) (end *os.File, shown func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err == nil {
		end, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(screen) // the end of a terminal is an error
		text <- string(all)
	}()
	return end, func() string {
		if err := end.Close(); err != nil {
			t.Error(err)
		}
		all := <-text
		if err := screen.Close(); err != nil {
			t.Error(err)
		}
		return all
	}
}

// TestStartDrawsOnATerminal only where the code has room, and never in the place of a document.
func TestStartDrawsOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	for name, c := range map[string]struct {
		columns         uint16
		json            bool
		noColor         string
		drawn, coloured bool
	}{
		"wide":           {80, false, "", true, true},
		"without colour": {80, false, "1", true, false},
		"just enough":    {33, false, "", true, true},
		"too narrow":     {32, false, "", false, false},
		"a document":     {80, true, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", c.noColor)
			end, shown := terminal(t, c.columns)
			_, _, code := runPairingStart(t.Context(), t, &pairingDaemon{states: []string{isBound}, url: "https://example.org/hob", screen: end}, c.json)
			text := shown()
			drawn, coloured := strings.ContainsAny(text, "▀▄█"), strings.Contains(text, "\x1b[30;107m")
			if code != 0 || drawn != c.drawn || coloured != c.coloured || strings.Contains(text, "ABCD-EFGH") == c.json {
				t.Errorf("exit code %d, drawn %v, coloured %v:\n%s", code, drawn, coloured, text)
			}
		})
	}
}
