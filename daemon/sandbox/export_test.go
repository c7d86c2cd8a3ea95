//go:build linux

package sandbox

import (
	"context"
	"errors"
)

// Profile returns the macOS profile of a sandbox. It is text, so it can be checked on any system.
func Profile(c Config, b Spec) (string, error) {
	l, err := (&Sandbox{conf: c}).lay(b, nil)
	if err = errors.Join(err, l.release()); err != nil {
		return "", err
	}
	return profile(c, l), nil
}

// NamesOf lists the other paths at which a mount table shows a folder.
func NamesOf(folder, table string) []string { return namesOf(folder, mounts(table)) }

// Filter runs the seccomp program as the kernel does and returns its answer to a call of this processor.
func Filter(asks, owner bool, call uint64, args ...uint64) uint32 {
	arch := uint64(program(kinds{asks: asks, owner: owner})[1].K)
	data := map[uint32]uint64{dataCall: call, dataArch: arch}
	for i, arg := range args {
		data[dataArg0+8*uint32(i)] = arg // #nosec G115 -- at most six
	}
	var acc uint32
	p := program(kinds{asks: asks, owner: owner})
	for i := 0; ; i++ {
		switch f := p[i]; f.Code {
		case load(0).Code:
			acc = uint32(data[f.K]) // #nosec G115 -- the lower half
		case give(0).Code:
			return f.K
		case jump(0x10, 0, 0, 0).Code:
			i += skip(f.Jt, f.Jf, acc == f.K)
		case jump(0x30, 0, 0, 0).Code:
			i += skip(f.Jt, f.Jf, acc >= f.K)
		case jump(0x40, 0, 0, 0).Code:
			i += skip(f.Jt, f.Jf, acc&f.K != 0)
		}
	}
}

func skip(yes, no uint8, is bool) int {
	if is {
		return int(yes)
	}
	return int(no)
}

// Landlocked returns the kernel's version of Landlock.
func Landlocked() int { return landlockVersion() }

// Alone makes a command in a sandbox without Landlock and seccomp.
func Alone(ctx context.Context, c Config, b Spec, argv, env []string) (*Command, error) {
	private, err := closed("/etc")
	if err != nil {
		return nil, err
	}
	for _, w := range variants(true) {
		w.conf, w.program, w.private = c, "/usr/bin/bwrap", private
		if w.try(ctx) != nil {
			continue
		}
		l, err := (&Sandbox{conf: c}).lay(b, nil)
		mounted, reading := mountTable()
		if err = errors.Join(err, reading, w.masks(&l, mounted)); err != nil {
			return nil, err
		}
		line, err := w.argv(l)
		if err != nil {
			return nil, err
		}
		return handOver(line, order(argv, env), l)
	}
	return nil, ErrNone
}

// Over returns the limit that the counters in a folder report, as Close does for a control group.
func Over(dir string, memory int64) string { return (&Bound{memory: memory, dir: dir}).reached() }

// Serve decides about the calls of a command whose start nobody waits for with Entered.
func (c *Command) Serve() error { return c.serve() }

// Unread takes hob's end of the status away, as its death does.
func (c *Command) Unread() error { return c.status.Close() }
