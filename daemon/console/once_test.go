package console_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/console"
)

// An answer is shown, and counts as one, when the place cannot be noted, such as on a full disk: the message was taken.
func TestAnAnswerWhosePlaceCannotBeNoted(t *testing.T) {
	for _, live := range []bool{true, false} {
		var o, e bytes.Buffer
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Symlink("none/at/all", dir); err != nil { // no file is there, and none can be made
			t.Fatal(err)
		}
		f := newFake(func(f *fake, row int64, _ client.Message) { turn(f, 5, row, "hello") })
		once := console.Once{API: f, Out: &console.Pipes{Out: &o, Err: &e, Live: live, Screen: console.Look{UTF8: true}}, Cursor: console.Cursor(dir + "/c"), Zone: time.UTC}
		a, err := once.Say(t.Context(), client.Message{Text: "hi"})
		if err != nil || a.Text != "hello" || !strings.Contains(o.String()+e.String(), "may show again what was shown here") {
			t.Errorf("live: %v: %+v, %v, shown %q %q", live, a, err, o.String(), e.String())
		}
	}
}
