package sys

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// reportedJumps calls happened whenever the wall clock is set, also by a sleep of the machine, until ctx ends. The system reports that by
// cancelling a timer (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). A system without such timers is ErrUnsupported.
func reportedJumps(ctx context.Context, happened func()) error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make a timer: %w: %w", errors.ErrUnsupported, err)
	}
	// The file is read by Go's poller, so that no thread waits for it.
	f := os.NewFile(uintptr(fd), "timer") // #nosec G115 -- a descriptor
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
	defer stop()
	err = readJumps(ctx, f, fd, happened)
	return errors.Join(err, f.Close())
}

// machineSlept compares the clock that runs while the machine sleeps with the one that does not (clock_gettime(2)).
func machineSlept() (time.Duration, error) {
	var all, awake unix.Timespec
	err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake), unix.ClockGettime(unix.CLOCK_BOOTTIME, &all))
	return time.Duration(all.Nano() - awake.Nano()), err
}

// readJumps arms the timer and reads it, again and again.
func readJumps(ctx context.Context, f *os.File, fd int, happened func()) error {
	for {
		// The timer itself is not needed, only that it is cancelled: ten years are as good as never.
		far := unix.ItimerSpec{Value: unix.NsecToTimespec(time.Now().AddDate(10, 0, 0).UnixNano())}
		// A jump before this call is not reported, so the timers end also when the watch begins.
		if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &far, nil); err != nil && !errors.Is(err, unix.ECANCELED) {
			return fmt.Errorf("set a timer: %w: %w", errors.ErrUnsupported, err)
		}
		happened()
		var expirations [8]byte
		_, err := f.Read(expirations[:])
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ECANCELED):
		case err != nil:
			return fmt.Errorf("wait for a timer: %w", err)
		case binary.NativeEndian.Uint64(expirations[:]) == 0:
			return errors.New("wait for a timer: it ended without a reason")
		}
	}
}
