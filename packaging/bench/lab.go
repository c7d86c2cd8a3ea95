//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/api/client"
)

// lab is the place of the measurements: a binary, and a folder for homes.
// run removes the folder with all homes at the end.
type lab struct {
	hob, dir string
	homes    int

	largeHome string // see large; "": not made yet
	rest      *rest  // see atRest; nil: not measured yet
}

// home makes an empty home with a config.
func (l *lab) home(config string) (string, error) {
	l.homes++
	path := filepath.Join(l.dir, "h"+strconv.Itoa(l.homes))
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(path, "config.toml"), []byte(config), 0o600)
}

// daemon is a hob in a process of its own.
// home has its config and state, and port is that of its HTTP server on the loopback address.
type daemon struct {
	cmd   *exec.Cmd
	home  string
	port  string
	began time.Time
	ready time.Duration // from the start of the process to its ready line
}

// start runs a daemon and waits for its ready line.
func (l *lab) start(ctx context.Context, home string) (*daemon, error) {
	// The port is chosen here, so that healthy knows it before hob prints anything.
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	d := &daemon{home: home, port: port}
	d.cmd = exec.CommandContext(ctx, l.hob, "up", "--no-chat", "--home", home, "--listen", "127.0.0.1:"+port) // #nosec G204 -- the measured binary
	d.cmd.Env = append(os.Environ(), "HOB_BENCH=none")                                                        // the token of channels that nobody answers
	// At the end of ctx hob shuts down in order. The default would be SIGKILL.
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.began = time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	// The first line of the output is the ready line.
	line, err := bufio.NewReader(out).ReadString('\n')
	d.ready = time.Since(d.began)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hob up said %q: %w", line, err), d.stop())
	}
	return d, nil
}

// freePort is a port of the loopback address that nobody uses.
// Another process may take it before hob does. The row then fails.
func freePort(ctx context.Context) (string, error) {
	var conf net.ListenConfig
	at, err := conf.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(at.Addr().String())
	return port, errors.Join(err, at.Close())
}

// healthy waits until /healthz answers 200 and returns the time since the start of the process.
// It asks again without a pause, because a pause would be part of the result. Errors are expected until hob listens.
func (d *daemon) healthy(ctx context.Context) (time.Duration, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+d.port+"/healthz", nil)
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			err = res.Body.Close()
			if err == nil && res.StatusCode == http.StatusOK {
				return time.Since(d.began), nil
			}
		}
		if ctx.Err() != nil {
			return 0, errors.Join(ctx.Err(), err)
		}
	}
}

// stop ends the daemon.
// An exit code other than 0 is an error.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return d.cmd.Wait()
}

// cpu is the CPU time of the daemon so far. The clock of another process is clock_getcpuclockid(3).
func (d *daemon) cpu() (time.Duration, error) {
	// The number of the clock is made as in glibc: the inverted PID, shifted by three bits, and the kind of the clock.
	// Kind 2 is the user and system time of all threads.
	const cpuClockSched = 2
	var at unix.Timespec
	id := ^d.cmd.Process.Pid<<3 | cpuClockSched
	if err := unix.ClockGettime(int32(id), &at); err != nil { // #nosec G115 -- a clock's number has 32 bits
		return 0, fmt.Errorf("read the CPU time: %w", err)
	}
	return time.Duration(at.Nano()), nil
}

// client connects to the daemon's socket.
func (d *daemon) client(ctx context.Context) (*client.Client, error) {
	return client.Find(ctx, d.home, false)
}

// status is a field of /proc/PID/status in kB.
// The fields are described in proc_pid_status(5).
func (d *daemon) status(name string) (float64, error) {
	return field(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid), name)
}

// field reads a number of such a file.
func field(path, name string) (float64, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- of the system
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strconv.ParseFloat(strings.Fields(rest)[0], 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}

// took runs a command in a folder and returns its time in ms.
// The time includes the start of the process and its output.
func took(dir, name string, args ...string) sample {
	return func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- commands of this program
		cmd.Dir = dir
		began := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%s: %w: %s", name, err, out)
		}
		return ms(time.Since(began)), nil
	}
}

// used runs a command and returns its CPU time in ms.
// It is the user and system time of the process and of the children that it has waited for.
func used(name string, args ...string) sample {
	return func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- commands of this program
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()), nil
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// syncs appends 4 KB and calls fdatasync ten times: the cheapest way to make ten things durable. The result is in ms.
// The file grows, so each call also writes the new length.
func (l *lab) syncs() (sample, func() error, error) {
	f, err := os.CreateTemp(l.dir, "anchor-")
	if err != nil {
		return nil, nil, err
	}
	page := make([]byte, 4096)
	return func(context.Context) (float64, error) {
		began := time.Now()
		for range 10 {
			if _, err := f.Write(page); err != nil {
				return 0, err
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				return 0, err
			}
		}
		return ms(time.Since(began)), nil
	}, f.Close, nil
}
