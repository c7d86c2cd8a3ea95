package filewatch

import (
	"cmp"
	"slices"
	"time"
)

// stat is what a look at a file tells without opening it.
type stat struct {
	ino         uint64
	size, mtime int64
	link        bool // a symbolic link, which is not followed
}

// How long the next content may bear the time of one before it: file systems count in steps. Those that count in whole seconds do it in
// steps of up to two (FAT), the others at most in ticks of the system's clock.
const (
	coarseStep = 3 * time.Second
	fineStep   = 20 * time.Millisecond
)

// young says that a file which looks like this at a time may get another content without looking other than now.
func (s stat) young(now time.Time) bool {
	step := fineStep
	if s.mtime%int64(time.Second) == 0 {
		step = coarseStep
	}
	return now.Sub(time.Unix(0, s.mtime)).Abs() < step
}

// candidate is a path that looks other than it did, and has not rested yet.
type candidate struct {
	stat
	gone  bool
	since time.Duration // when it was first seen as it is now
	first time.Duration // when it was first seen to have changed
	told  bool          // it was told while it still changed
}

// ref names a candidate.
type ref struct {
	dir, name string
	candidate
	restless bool // it is ready although it still changes
}

func (r ref) path() string { return join(r.dir, r.name) }

// candidates are the changed paths of a watch, by folder and name. Times are the monotonic clock's.
type candidates struct {
	folders map[string]map[string]candidate
	n       int
}

// note takes in how a path looks now. One that looks as it did the last time goes on resting.
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

// again lets a candidate rest anew, as it looks now.
func (p *candidates) again(dir, name string, s stat, gone bool, now time.Duration) {
	p.note(dir, name, s, gone, now)
	c := p.folders[dir][name]
	c.since = now
	p.put(dir, name, c)
}

// all lists the candidates, rested or not.
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

func sortRefs(list []ref) {
	slices.SortFunc(list, func(a, b ref) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name)) })
}

// tell marks a candidate as told while it still changes.
func (p *candidates) tell(dir, name string) {
	if c, ok := p.folders[dir][name]; ok {
		c.told = true
		p.put(dir, name, c)
	}
}

func (p *candidates) put(dir, name string, c candidate) {
	if p.folders == nil {
		p.folders = map[string]map[string]candidate{}
	}
	if p.folders[dir] == nil {
		p.folders[dir] = map[string]candidate{}
	}
	p.folders[dir][name] = c
}

// drop forgets a candidate.
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

// patience is how long a file may go on changing before it is told as one that still does.
func patience(settle time.Duration) time.Duration {
	return max(settle, min(10*settle, 5*time.Minute))
}

// holdFor is how long a file that rests waits for others that do not yet, so that they are told together.
func holdFor(settle time.Duration) time.Duration { return 4 * settle }

// ready lists what is to be told now, in the order of paths: all, when all rest; those that rest, when one of them has waited
// long for the others; and those that have changed for too long. next is when to ask again, 0 when there are no candidates.
func (p *candidates) ready(settle, now time.Duration) (list []ref, next time.Duration) {
	var resting, restless []ref
	waited, open := false, 0
	soon := func(at time.Duration) {
		if next == 0 || at < next {
			next = at
		}
	}
	for dir, in := range p.folders {
		for name, c := range in {
			rests := c.since + settle
			switch {
			case rests <= now:
				resting = append(resting, ref{dir, name, c, false})
				waited = waited || rests+holdFor(settle) <= now
				soon(rests + holdFor(settle))
				continue
			case !c.told && c.first+patience(settle) <= now:
				restless = append(restless, ref{dir, name, c, true})
			case !c.told:
				soon(c.first + patience(settle))
			}
			soon(rests)
			if !c.told {
				open++ // nobody waits for one that has been told
			}
		}
	}
	list = restless
	if open == len(restless) || waited {
		list = append(list, resting...)
	}
	sortRefs(list)
	return list, next
}
