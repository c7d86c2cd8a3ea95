//go:build unix

package runtime_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"hob/tools/runtime"
)

// BenchmarkExec takes 100 MB of output: the tool, and cat piped to cat as the anchor. The figure that counts
// is the ratio of the two in one run.
func BenchmarkExec(b *testing.B) {
	k := newBench(b, runtime.Limits{})
	big := filepath.Join(k.dir, "big")
	if err := os.WriteFile(big, make([]byte, 100<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("exec", func(b *testing.B) {
		b.SetBytes(100 << 20)
		for b.Loop() {
			if res, _ := k.run(b, sh("cat big")); res.IsError {
				b.Fatal(res.Content)
			}
			k.shelf.kept = nil
		}
	})
	b.Run("cat", func(b *testing.B) {
		b.SetBytes(100 << 20)
		for b.Loop() {
			if err := osexec.Command("bash", "-c", "cat "+big+" | cat > /dev/null").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("true", func(b *testing.B) {
		for b.Loop() {
			if res, _ := k.run(b, sh("true")); res.IsError {
				b.Fatal(res.Content)
			}
		}
	})
	b.Run("bash", func(b *testing.B) {
		for b.Loop() {
			if err := osexec.Command("bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
