package runtime

import (
	"cmp"
	"sync"
	"time"
)

// origin tracks whether the output of a process, and the files that it writes, count as foreign
// text. This may change while the process runs. It is safe for concurrent use.
type origin struct {
	lasting bool                   // its files stay on this machine, outside scratch
	recheck func() bool            // checks whether it can now see foreign files; true if that is new. nil: no check needed
	named   func(path string) bool // reports whether a file shows the name of a file that is hidden from it; nil like recheck

	mu      sync.Mutex
	foreign string    // why its output is foreign text; "": it is not
	why     string    // why its files are foreign text; "": they are not
	from    time.Time // since when, by FileClock
	began   time.Time // its start by FileClock: it may have made any change from then on. Zero before the start
}

// originOf returns the origin that the site has determined. A sandbox that may write only its scratch folder, or a host, leaves no
// files on this machine.
func originOf(at *site) *origin {
	return &origin{lasting: at.host == "" && (!at.sandboxed || !at.sandbox.ScratchOnly), foreign: at.foreign, why: at.why}
}

// markStarted notes that the process may change files from now on.
func (o *origin) markStarted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began = FileClock()
	o.from = o.began
}

// source returns why the output is foreign text, or "".
func (o *origin) source() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.foreign
}

// writing returns since when the process may have written files, and why those files count as
// foreign text ("": they do not). The time is zero if the process was never started.
func (o *origin) writing() (since time.Time, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began.IsZero() {
		return time.Time{}, ""
	}
	return o.from, o.why
}

// gotTaintedInput makes all later output and files foreign: a turn that has read foreign text is
// about to write to the process.
func (o *origin) gotTaintedInput() { o.taint(afterInput, byInput, FileClock()) }

// sawForeign makes all output foreign, and all files that the process has written since its start, because the time at which it read the
// foreign text is unknown.
func (o *origin) sawForeign() { o.taint(seesFiles, bySight, time.Time{}) }

// taint makes output and files foreign from since on. An earlier reason, and an earlier time, win.
func (o *origin) taint(foreign, why string, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.foreign = cmp.Or(o.foreign, foreign)
	if since.Before(o.began) {
		since = o.began
	}
	if o.lasting && (o.why == "" || since.Before(o.from)) {
		o.why, o.from = cmp.Or(o.why, why), since
	}
}
