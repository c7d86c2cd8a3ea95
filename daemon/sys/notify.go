// This file reports the state of the process to the service manager: ready, alive, stopping, and a status line for people. The protocol
// is sd_notify(3): one datagram of assignments per message, to the socket named by NOTIFY_SOCKET. Without a socket it does nothing. It
// starts nothing by itself and never waits for the manager.

package sys

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// maxStatus is the longest status line, in bytes; a longer one is shortened. The protocol allows more, a terminal does not show it.
const maxStatus = 200

// ServiceManager is the service manager that started the process. The zero value means that there is none: every call succeeds and
// nothing is sent. It is safe for concurrent use.
type ServiceManager struct {
	socket   string // a path, or "@" and a name in the abstract namespace; "": no manager
	watchdog time.Duration
}

// FindServiceManager reads the manager's environment variables: NOTIFY_SOCKET (sd_notify(3)), WATCHDOG_USEC and WATCHDOG_PID
// (sd_watchdog_enabled(3)). pid is the caller's; a watchdog for another process is ignored. The error names an invalid variable; the
// returned manager is usable in any case.
func FindServiceManager(env func(string) string, pid int) (ServiceManager, error) {
	var m ServiceManager
	var errs []error
	switch socket := env("NOTIFY_SOCKET"); {
	case socket == "", strings.HasPrefix(socket, "/") && len(socket) > 1, strings.HasPrefix(socket, "@") && len(socket) > 1:
		m.socket = socket
	default:
		errs = append(errs, fmt.Errorf("NOTIFY_SOCKET %q is neither a path nor an abstract name", socket))
	}
	if m.socket == "" {
		return m, errors.Join(errs...)
	}
	if usec := env("WATCHDOG_USEC"); usec != "" && mine(env("WATCHDOG_PID"), pid) {
		n, err := strconv.ParseInt(usec, 10, 64)
		if limit := int64(1<<63-1) / int64(time.Microsecond); err != nil || n <= 0 || n > limit {
			errs = append(errs, fmt.Errorf("WATCHDOG_USEC %q is not a number of microseconds", usec))
		} else {
			m.watchdog = time.Duration(n) * time.Microsecond
		}
	}
	return m, errors.Join(errs...)
}

// mine reports whether a WATCHDOG_PID means this process: it is absent or equal.
func mine(meant string, pid int) bool { return meant == "" || meant == strconv.Itoa(pid) }

// Listens reports whether there is a manager.
func (m ServiceManager) Listens() bool { return m.socket != "" }

// Watchdog returns how long the manager waits for Alive before it kills the process; 0: forever. systemd advises to report after half of
// that time.
func (m ServiceManager) Watchdog() time.Duration { return m.watchdog }

// Ready reports that the start, or a reload, is complete. status is shown to people.
func (m ServiceManager) Ready(status string) error { return m.send("READY=1", statusLine(status)) }

// Status replaces the status line.
func (m ServiceManager) Status(status string) error { return m.send(statusLine(status)) }

// Starting reports that the start goes on, and asks the manager to wait for Ready at least that long from now (EXTEND_TIMEOUT_USEC).
func (m ServiceManager) Starting(wait time.Duration, status string) error {
	return m.send("EXTEND_TIMEOUT_USEC="+strconv.FormatInt(wait.Microseconds(), 10), statusLine(status))
}

// Alive feeds the watchdog and replaces the status line.
func (m ServiceManager) Alive(status string) error { return m.send("WATCHDOG=1", statusLine(status)) }

// Reloading reports that the config is being read again. mono is the value of CLOCK_MONOTONIC at the beginning, which systemd 253 and
// later require. Ready ends the state.
func (m ServiceManager) Reloading(mono time.Duration) error {
	return m.send("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(mono.Microseconds(), 10))
}

// Stopping reports that the process has begun to stop.
func (m ServiceManager) Stopping(status string) error {
	return m.send("STOPPING=1", statusLine(status))
}

// statusLine makes one assignment from a text. A line break would begin another one, so it is removed.
func statusLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "")
	}
	return "STATUS=" + text
}

// send writes one datagram. Package net replaces a leading "@" by the NUL byte of an abstract name.
func (m ServiceManager) send(lines ...string) error {
	if !m.Listens() {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("reach the service manager: %w", err)
	}
	_, err = conn.Write([]byte(strings.Join(lines, "\n") + "\n"))
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
