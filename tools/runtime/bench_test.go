//go:build unix

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hob/daemon/sandbox"
	"hob/tools/runtime"
)

// BenchmarkExec takes 100 MB of output, with cat piped to cat as the anchor, and the shortest command, with the shell alone as the
// anchor; that also in the sandbox, with the sandbox's own command line as the anchor. Tool and anchor take turns: the figure that counts is the
// ratio of their medians.
func BenchmarkExec(b *testing.B) {
	k := newBench(b, runtime.Limits{})
	big := filepath.Join(k.dir, "big")
	if err := os.WriteFile(big, make([]byte, 100<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	tool := func(k *bench, command string) func() error {
		return func() error {
			if res, _ := k.run(b, sh(command)); res.IsError {
				return fmt.Errorf("%s: %s", command, res.Content)
			}
			k.artifactStore.kept = nil
			return nil
		}
	}
	b.Run("output", func(b *testing.B) {
		versus(b, tool(k, "cat big"), command("bash", "-c", "cat "+big+" | cat > /dev/null"))
	})
	b.Run("true", func(b *testing.B) { versus(b, tool(k, "true"), command("bash", "-c", "true")) })
	b.Run("boxed", func(b *testing.B) {
		sandboxed := newBench(b, runtime.Limits{}, func(d *runtime.ExecDeps) {
			d.Sandbox = sandbox.New(context.Background(), sandbox.Config{Home: d.Guard.Home(), State: filepath.Join(d.Guard.Home(), "state"), Self: self(b)})
		})
		versus(b, tool(sandboxed, "true"), func() error {
			c, err := sandboxed.sandbox.Wrap(sandbox.Spec{Dir: sandboxed.dir, Writable: []string{sandboxed.dir}}, []string{"bash", "-c", "true"}, []string{"PATH=" + os.Getenv("PATH")})
			if err != nil {
				return err
			}
			cmd := new(osexec.Cmd)
			c.Prepare(cmd)
			if err := errors.Join(cmd.Start(), c.Entered()); err != nil {
				return err
			}
			if c.Calls != nil {
				go func() { _ = c.Calls.Serve() }()
			}
			return errors.Join(cmd.Wait(), c.Close())
		})
	})
}

func command(name string, args ...string) func() error {
	return func() error { return osexec.Command(name, args...).Run() }
}

// versus lets the two take turns, and reports the ratio of the medians of their times and that of the anchor.
func versus(b *testing.B, ours, anchor func() error) {
	var times [2][]time.Duration
	for b.Loop() {
		for i, f := range []func() error{ours, anchor} {
			begin := time.Now()
			if err := f(); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(begin))
		}
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	b.ReportMetric(median(times[0])/median(times[1]), "ratio")
	b.ReportMetric(median(times[1])/1e6, "anchor-ms")
	b.ReportMetric(median(times[0])/1e6, "hob-ms")
}
