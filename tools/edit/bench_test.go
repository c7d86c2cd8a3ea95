package edit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The benchmarks of BenchmarkEdit change one line in the middle of a file of 64 MB: the tool, which leaves it durable, and as
// anchors cp, and cp followed by a sync of the copy. The figures that count are the ratios in one run.
func BenchmarkEdit(b *testing.B) {
	d := newDesk(b)
	path := filepath.Join(d.dir, "f")
	var text bytes.Buffer
	for i := 0; text.Len() < 64<<20; i++ {
		text.WriteString("this is line number " + strconv.Itoa(i) + " of the file\n")
	}
	must(b, os.WriteFile(path, text.Bytes(), 0o600))
	n := 0
	old := "this is line number 900000 of the file\n"
	b.Run("edit", func(b *testing.B) {
		for b.Loop() {
			n++
			put := "this is line number 900000 for the " + strconv.Itoa(n) + "th time\n"
			if res := d.do(b, d.edit, args{"path": "f", "old_text": old, "new_text": put}); res.IsError {
				b.Fatal(res.Content)
			}
			old = put
		}
	})
	for name, line := range map[string]string{"cp": "cp f g", "cp+sync": "cp f g && sync g"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), "sh", "-c", line)
				cmd.Dir = d.dir
				must(b, cmd.Run())
			}
		})
	}
}
