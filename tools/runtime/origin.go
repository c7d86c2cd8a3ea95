package runtime

import (
	"sync"
	"time"
)

// origin is whose text a process says and writes. It may come to be somebody else's while the process runs. It is safe for concurrent use.
type origin struct {
	lasting bool        // what it writes outlives it on this machine, outside scratch
	look    func() bool // notices that it has come to see foreign files; true: just now. nil: it need not

	mu      sync.Mutex
	foreign string    // why its output is somebody else's text; "" when it is not
	why     string    // why what it writes is; "" when it is not
	from    time.Time // since when, by the clock of files
	began   time.Time // what changed then or later, it may have changed. Zero before it is started
}

func originOf(at *site) *origin {
	return &origin{lasting: at.host == "" && (!at.boxed || !at.box.Sealed), foreign: at.foreign, why: at.why}
}

// starts notes that from now on it may change files.
func (o *origin) starts() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began = FileClock()
	o.from = o.began
}

// source is why its output is somebody else's text, "" when it is not.
func (o *origin) source() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.foreign
}

// writing is since when it may have written files, and why they count as somebody else's text: "" when they do not. The time is zero
// when it was not started.
func (o *origin) writing() (since time.Time, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began.IsZero() {
		return time.Time{}, ""
	}
	return o.from, o.why
}

// typed makes all that it says and writes from now on somebody else's text: a turn that has read such is about to write to it.
func (o *origin) typed() { o.taint(afterInput, byInput, FileClock()) }

// saw makes all that it says, and has written since it began, somebody else's text: when it came to see some is not known.
func (o *origin) saw() { o.taint(seesFiles, bySight, time.Time{}) }

func (o *origin) taint(foreign, why string, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign = or(o.foreign, foreign)
	if since.Before(o.began) {
		since = o.began
	}
	if o.lasting && (o.why == "" || since.Before(o.from)) {
		o.why, o.from = or(o.why, why), since
	}
}
