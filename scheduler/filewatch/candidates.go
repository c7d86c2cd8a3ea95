package filewatch

import (
	"cmp"
	"slices"
	"time"
)

// stat holds the facts about a file that are visible without opening it.
// It has the inode, the size in bytes, and the modification time in nanoseconds since 1970.
type stat struct {
	ino         uint64
	size, mtime int64
	link        bool // a symbolic link that is not followed
}

// The resolution of modification times: within it, new content may have the time of the old one. File systems with whole seconds use steps
// of up to two seconds (FAT); others at most the ticks of the system's clock.
const (
	coarseStep = 3 * time.Second
	fineStep   = 20 * time.Millisecond
)

// mayHide reports whether the file may still get new content without a visible change of s.
func (s stat) mayHide(now time.Time) bool {
	step := fineStep
	if s.mtime%int64(time.Second) == 0 {
		step = coarseStep
	}
	return now.Sub(time.Unix(0, s.mtime)).Abs() < step
}

// candidate is a path that has changed and is not settled yet.
type candidate struct {
	stat
	gone  bool
	since time.Duration // when it was first seen in its present state
	first time.Duration // when it was first seen as changed
	told  bool          // it was reported while it was still changing
}

// ref is a candidate with its path.
type ref struct {
	dir, name string
	candidate
	unsettled bool // it is reported although it still changes
}

func (r ref) path() string { return join(r.dir, r.name) }

// candidates are the changed paths of a watch, by folder and name. Times are monotonic. The walk adds them; ready returns those that have
// settled; the writer reports and drops them.
//
// n is their number. They are kept in memory only: after a restart, the scan at the start finds the same differences again.
type candidates struct {
	folders map[string]map[string]candidate
	n       int
}

// note records the present state of a path. An unchanged state continues to settle.
func (p *candidates) note(dir, name string, s stat, gone bool, now time.Duration) {
	c, known := p.folders[dir][name]
	if known && c.stat == s && c.gone == gone {
		return
	}
	if !known {
		c.first = now
		p.n++
	}
	c.stat, c.gone, c.since = s, gone, now
	p.put(dir, name, c)
}

// again restarts the settle time of a candidate.
// The writer calls it for a file that changed, or could not be read, after the scan.
func (p *candidates) again(dir, name string, s stat, gone bool, now time.Duration) {
	p.note(dir, name, s, gone, now)
	c := p.folders[dir][name]
	c.since = now
	p.put(dir, name, c)
}

// all lists all candidates.
func (p *candidates) all() []ref {
	var list []ref
	for dir, in := range p.folders {
		for name, c := range in {
			list = append(list, ref{dir, name, c, false})
		}
	}
	sortRefs(list)
	return list
}

// sortRefs orders by path, so that a report and its version numbers do not depend on the order of a map.
func sortRefs(list []ref) {
	slices.SortFunc(list, func(a, b ref) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name)) })
}

// tell marks a candidate as reported while it still changes.
func (p *candidates) tell(dir, name string) {
	if c, ok := p.folders[dir][name]; ok {
		c.told = true
		p.put(dir, name, c)
	}
}

// put sets the candidate of a file.
func (p *candidates) put(dir, name string, c candidate) {
	if p.folders == nil {
		p.folders = map[string]map[string]candidate{}
	}
	if p.folders[dir] == nil {
		p.folders[dir] = map[string]candidate{}
	}
	p.folders[dir][name] = c
}

// drop removes a candidate.
func (p *candidates) drop(dir, name string) {
	in := p.folders[dir]
	if _, ok := in[name]; !ok {
		return
	}
	p.n--
	if delete(in, name); len(in) == 0 {
		delete(p.folders, dir)
	}
}

// patience returns how long a file may keep changing before it is reported as still changing.
// It is ten settle times, at most 5 minutes, and never less than the settle time.
func patience(settle time.Duration) time.Duration {
	return max(settle, min(10*settle, 5*time.Minute))
}

// holdFor returns how long a settled file waits for unsettled ones, so that they are reported together.
func holdFor(settle time.Duration) time.Duration { return 4 * settle }

// ready returns the candidates to report now, by path: all of them when all have settled; the settled ones when one has waited long enough;
// and those that have been changing for too long. next is the time of the next call; 0 without candidates.
func (p *candidates) ready(settle, now time.Duration) (list []ref, next time.Duration) {
	var settled, unsettled []ref
	waited, open := false, 0
	// soon keeps the earliest time at which the answer may be another one.
	soon := func(at time.Duration) {
		if next == 0 || at < next {
			next = at
		}
	}
	for dir, in := range p.folders {
		for name, c := range in {
			settlesAt := c.since + settle
			switch {
			case settlesAt <= now:
				settled = append(settled, ref{dir, name, c, false})
				waited = waited || settlesAt+holdFor(settle) <= now
				soon(settlesAt + holdFor(settle))
				continue
			case !c.told && c.first+patience(settle) <= now:
				unsettled = append(unsettled, ref{dir, name, c, true})
			case !c.told:
				soon(c.first + patience(settle))
			}
			soon(settlesAt)
			if !c.told {
				open++ // a reported one delays nobody
			}
		}
	}
	// The settled ones wait for those that still change, but not longer than holdFor.
	list = unsettled
	if open == len(unsettled) || waited {
		list = append(list, settled...)
	}
	sortRefs(list)
	return list, next
}
