package filewatch_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// tree makes 100,000 folders, ten in each.
func (w *watchedHome) tree(b *testing.B) {
	b.Helper()
	for i := range 10 {
		for j := range 10 {
			for k := range 10 {
				for l := range 10 {
					for m := range 10 {
						path := fmt.Sprintf("%s/d%d/d%d/d%d/d%d/d%d", w.dir, i, j, k, l, m)
						must(b, os.MkdirAll(path, 0o700))
					}
				}
			}
		}
	}
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1000
}

// BenchmarkReady is the time until a tree of 111,111 folders is watched, beside inotifywait -r on the same tree, in turns; and what
// it costs in memory that stays in use.
func BenchmarkReady(b *testing.B) {
	path, err := exec.LookPath("inotifywait")
	if err != nil {
		b.Skip("inotifywait is not installed")
	}
	w := newWatchedHome(b)
	w.tree(b)
	before := inUse()
	var ours, theirs, library []time.Duration
	memory, part := uint64(0), uint64(0)
	for b.Loop() {
		took, bytes := fsnotifyAlone(b, w.dir)
		library, part = append(library, took), bytes
		one := w.watch(nil)
		start := time.Now()
		w.begin()
		ours = append(ours, time.Since(start))
		memory = inUse() - before
		w.end()
		w.store.Remove(one.ID)
		w.store.Forget(one.ID)
		theirs = append(theirs, inotifywait(b, path, w.dir))
	}
	b.ReportMetric(median(ours), "hob-ms")
	b.ReportMetric(median(theirs), "inotifywait-ms")
	b.ReportMetric(median(ours)/median(theirs), "ratio")
	b.ReportMetric(float64(memory)/(1<<20), "MB")
	b.ReportMetric(median(library), "fsnotify-ms")
	b.ReportMetric(float64(part)/(1<<20), "fsnotify-MB")
}

// fsnotifyAlone adds all folders to the library and does nothing else: the part of the time and of the memory that is its own.
func fsnotifyAlone(b *testing.B, dir string) (time.Duration, uint64) {
	b.Helper()
	before := inUse()
	n, err := fsnotify.NewWatcher()
	must(b, err)
	took := time.Duration(0)
	must(b, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		start := time.Now()
		err = n.Add(path)
		took += time.Since(start)
		return err
	}))
	bytes := inUse() - before
	must(b, n.Close())
	return took, bytes
}

// inUse is the heap in use after a collection.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func inotifywait(b *testing.B, path, dir string) time.Duration {
	b.Helper()
	cmd := exec.Command(path, "-r", "-m", "-e", "create,modify,delete,move,attrib", dir)
	out, err := cmd.StderrPipe()
	must(b, err)
	start := time.Now()
	must(b, cmd.Start())
	for s := bufio.NewScanner(out); s.Scan(); {
		if strings.Contains(s.Text(), "Watches established") {
			break
		}
	}
	took := time.Since(start)
	must(b, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	return took
}

// BenchmarkRescan is a look at 20,000 files in 2,000 folders that finds nothing new, as after an overflow, beside one lstat walk of them.
func BenchmarkRescan(b *testing.B) {
	w := newWatchedHome(b)
	for i := range 20_000 {
		w.put(fmt.Sprintf("d%d/e%d/f%d", i%20, i%2000, i), "x")
	}
	w.watch(nil)
	w.begin()
	w.end()
	rescan, end, err := w.run.Rescanner()
	must(b, err)
	rescan(b.Context()) // watches all
	var ours, theirs []time.Duration
	for b.Loop() {
		start := time.Now()
		rescan(b.Context())
		ours = append(ours, time.Since(start))
		start = time.Now()
		must(b, filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Lstat(path)
			}
			return err
		}))
		theirs = append(theirs, time.Since(start))
	}
	must(b, end())
	b.ReportMetric(median(ours), "hob-ms")
	b.ReportMetric(median(theirs), "lstat-ms")
	b.ReportMetric(median(ours)/median(theirs), "ratio")
}

// BenchmarkBurst is the time from the last of 5,000 writes to the commit that tells of all, less the settle time, beside reading and
// hashing the same files.
func BenchmarkBurst(b *testing.B) {
	const files = 5000
	w := newWatchedHome(b)
	name := func(i int) string { return fmt.Sprintf("d%d/f%d", i%50, i) }
	for i := range files {
		w.put(name(i), "first")
	}
	one := w.watch(nil)
	w.begin()
	var ours, theirs []time.Duration
	round := 0
	for b.Loop() {
		round++
		for i := range files {
			w.put(name(i), fmt.Sprint("content ", round))
		}
		start := time.Now()
		w.until("the last file", func() bool {
			return w.store.File(one.ID, w.dir+"/"+name(files-1)).Version == int64(round+1)
		})
		ours = append(ours, time.Since(start)-settle)
		start = time.Now()
		for i := range files {
			raw, err := os.ReadFile(w.dir + "/" + name(i))
			must(b, err)
			sha256.Sum256(raw)
		}
		theirs = append(theirs, time.Since(start))
		w.whole(one.ID)
	}
	b.ReportMetric(median(ours), "hob-ms")
	b.ReportMetric(median(theirs), "hash-ms")
	b.ReportMetric(median(ours)/median(theirs), "ratio")
}
