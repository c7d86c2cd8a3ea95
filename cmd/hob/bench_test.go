//go:build linux

package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/api/client"
)

// release builds the binary that is measured.
func release(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "hob")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, root+"/cmd/hob")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// measured is a daemon in a process of its own.
type measured struct {
	*exec.Cmd
	home  string
	ready time.Duration // from the start of the process to its ready line
}

func start(b *testing.B, bin, home string) measured {
	b.Helper()
	r := measured{Cmd: exec.CommandContext(b.Context(), bin, "up", "--no-chat", "--home", home, "--listen", "127.0.0.1:0"), home: home}
	out, err := r.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	if err := r.Start(); err != nil {
		b.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatalf("%q: %v", line, err)
	}
	r.ready = time.Since(begin)
	return r
}

func (r measured) end(b *testing.B) {
	b.Helper()
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := r.Wait(); err != nil {
		b.Fatal(err)
	}
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

// BenchmarkReady is from exec to the ready line, with an existing database, beside the start of a program that does nothing.
func BenchmarkReady(b *testing.B) {
	bin, home := release(b), filepath.Join(b.TempDir(), "h")
	start(b, bin, home).end(b)
	var ready, nothing []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := exec.CommandContext(b.Context(), "true").Run(); err != nil {
			b.Fatal(err)
		}
		nothing = append(nothing, time.Since(begin))
		r := start(b, bin, home)
		ready = append(ready, r.ready)
		r.end(b)
	}
	b.ReportMetric(median(ready), "ready-ms")
	b.ReportMetric(median(nothing), "true-ms")
}

// BenchmarkIdle is what a daemon uses that nobody talks to, over 30 seconds each: memory, context switches and CPU.
func BenchmarkIdle(b *testing.B) {
	bin := release(b)
	for b.Loop() {
		r := start(b, bin, filepath.Join(b.TempDir(), "h"))
		<-time.After(5 * time.Second) // what starting up leaves behind
		switches, ticks := r.usage(b)
		<-time.After(30 * time.Second)
		s, c := r.usage(b)
		b.ReportMetric(r.status(b, "VmRSS")/1024, "rss-MB")
		b.ReportMetric(r.status(b, "RssAnon")/1024, "anon-MB")
		b.ReportMetric((s-switches)/30, "switches/s")
		b.ReportMetric(c-ticks, "ticks")
		r.end(b)
	}
}

// usage counts the context switches of all threads, and the ticks of CPU time.
func (r measured) usage(b *testing.B) (switches, ticks float64) {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks {
		switches += field(b, t, "voluntary_ctxt_switches") + field(b, t, "nonvoluntary_ctxt_switches")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(stat))
	for _, s := range f[13:15] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return switches, ticks
}

func (r measured) status(b *testing.B, name string) float64 {
	b.Helper()
	return field(b, fmt.Sprintf("/proc/%d/status", r.Process.Pid), name)
}

func field(b *testing.B, file, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("%s has no %s", file, name)
	return 0
}

// BenchmarkTurn is one message from the post to the finished turn, through the socket of a running daemon, beside ten times
// BenchmarkTurn and fdatasync of the same size on the same disk.
func BenchmarkTurn(b *testing.B) {
	bin, home := release(b), filepath.Join(b.TempDir(), "h")
	r := start(b, bin, home)
	defer r.end(b)
	c, err := client.Find(context.Background(), home, false)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	var turns, syncs []time.Duration
	for b.Loop() {
		begin := time.Now()
		answer(b, c)
		turns = append(turns, time.Since(begin))
		begin = time.Now()
		for range 10 {
			if _, err := f.Write(make([]byte, 4096)); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
		}
		syncs = append(syncs, time.Since(begin))
	}
	b.ReportMetric(median(turns), "turn-ms")
	b.ReportMetric(median(syncs), "10-fdatasync-ms")
	b.ReportMetric(median(turns)/median(syncs), "ratio")
}

var errAnswered = errors.New("answered")

// answer posts a message and follows the events until its turn is finished.
func answer(b *testing.B, c *client.Client) {
	b.Helper()
	receipt, err := c.Post(b.Context(), client.Message{Text: "say hello"})
	if err != nil {
		b.Fatal(err)
	}
	err = c.Follow(b.Context(), receipt.Event, true, func(f client.Frame) error {
		if f.Event != nil && f.Event.Type == "turn.finished" {
			return errAnswered
		}
		return nil
	})
	if !errors.Is(err, errAnswered) {
		b.Fatal(err)
	}
}
