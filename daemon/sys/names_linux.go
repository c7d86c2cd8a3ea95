package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// WatchNames calls happened after a file of a folder was deleted or renamed, and after the folder itself or the one above it was, until ctx
// ends. Writing into files is no such event, and neither are changes further above. Errors are those of inotify(7).
func WatchNames(ctx context.Context, folder string, happened func()) error {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	f := os.NewFile(uintptr(fd), "names") // #nosec G115 -- a descriptor
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
	defer stop()
	const self = unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	_, err = unix.InotifyAddWatch(fd, folder, self|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, filepath.Dir(folder), self)
	}
	// What happened before the watch began is not reported.
	events := make([]byte, 16*(unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	for err == nil {
		happened()
		_, err = f.Read(events)
	}
	if ctx.Err() != nil {
		return f.Close()
	}
	return errors.Join(fmt.Errorf("watch %s: %w", folder, err), f.Close())
}
