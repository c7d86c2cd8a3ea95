// This file reports the state of the process to the service manager (sd_notify): ready, alive, stopping, and one line for people. It
// speaks the protocol of sd_notify(3): one datagram of assignments for each message, to the socket that NOTIFY_SOCKET
// names. Without such a socket it does nothing. It starts nothing by itself and never waits for the manager.

package sys

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Longest status line, in bytes; a longer one is cut. The protocol takes far more, a terminal does not.
const maxStatus = 200

// ServiceManager is the service manager that started the process. The zero value stands for none: everything succeeds and
// nothing is sent. It is safe for concurrent use.
type ServiceManager struct {
	socket   string // a path, or a name in the abstract namespace with "@" in front; "" is nobody
	watchdog time.Duration
}

// FindServiceManager reads what the manager has put into the environment: NOTIFY_SOCKET (sd_notify(3)), WATCHDOG_USEC and
// WATCHDOG_PID (sd_watchdog_enabled(3)). pid is the caller's: a watchdog that was meant for another process is none.
// The error names a variable that makes no sense; the Manager that comes with it can be used all the same.
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

// mine reports whether a WATCHDOG_PID means this process: it is absent, or its own.
func mine(meant string, pid int) bool { return meant == "" || meant == strconv.Itoa(pid) }

// Listens reports whether there is a manager at all.
func (m ServiceManager) Listens() bool { return m.socket != "" }

// Watchdog is how long the manager waits for Alive before it kills the process; 0 is for ever. Half of it is the
// advised pause between two signs of life.
func (m ServiceManager) Watchdog() time.Duration { return m.watchdog }

// Ready says that the start, or a reload, has ended and everything answers; status is shown to people.
func (m ServiceManager) Ready(status string) error { return m.send("READY=1", statusLine(status)) }

// Status replaces the line that is shown to people.
func (m ServiceManager) Status(status string) error { return m.send(statusLine(status)) }

// Alive feeds the watchdog and replaces the line that is shown to people.
func (m ServiceManager) Alive(status string) error { return m.send("WATCHDOG=1", statusLine(status)) }

// Reloading says that the configuration is being read again; mono is the reading of CLOCK_MONOTONIC at the begin, which
// systemd 253 and later want to see. Ready ends it.
func (m ServiceManager) Reloading(mono time.Duration) error {
	return m.send("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(mono.Microseconds(), 10))
}

// Stopping says that the process has begun to end.
func (m ServiceManager) Stopping(status string) error {
	return m.send("STOPPING=1", statusLine(status))
}

// statusLine makes one assignment of a text: a line break would begin another one.
func statusLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "")
	}
	return "STATUS=" + text
}

// send writes one datagram. net turns a leading "@" into the null byte of an abstract name.
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
