package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"hob/daemon/sandbox/entry"
)

// order returns the instructions for package entry: the command, checks of the mounts, the Landlock rules and the seccomp filter. entry
// carries them out inside the sandbox, then becomes the command.
func (w bubblewrap) order(l layout, mounted []mount, argv, env []string) ([]byte, error) {
	order, err := checks(order(argv, env), l, mounted)
	if err != nil {
		return nil, err
	}
	return filter(landlock(order, append(l.writable(), PrivateFolders(w.home())...)), kinds{asks: w.asks, owner: l.sockets, watched: w.conf.watched}), nil
}

// checks adds instructions that compare what the sandbox shows with what hob looked at. A folder that was replaced between hob's check
// and the mount makes the start fail.
func checks(order []byte, l layout, mounted []mount) ([]byte, error) {
	list := l.views
	if l.scratch != nil {
		list = append(slices.Clone(list), *l.scratch)
	}
	for _, v := range list {
		if last, _ := l.inner(v.at); v != last && (l.scratch == nil || v != *l.scratch) || !l.visible(v.at) {
			continue // another view, or a mask, covers it
		}
		readOnly := uint64(1)
		if v.write {
			readOnly = 0
		}
		home, inside := placeOf(v.from, mounted)
		order = check(order, entry.View, v.is.info, home.device+"\x00"+inside+"\x00"+v.at, readOnly)
	}
	for _, m := range l.masks {
		if m.is != nil && !(l.scratch != nil && within(m.at, l.scratch.at) && m.at == l.scratch.at) {
			order = check(order, entry.Mask, m.is, m.at)
		}
	}
	order = check(order, entry.Dir, l.here.info, "")
	info, err := os.Stat(l.state)
	if errors.Is(err, fs.ErrNotExist) {
		return order, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	// The state folder is identified by its place in the file system as well: another mount shows it under another path.
	home, inside := placeOf(l.state, mounted)
	text := home.device + "\x00" + inside
	for _, v := range l.views { // the copies that stand in place of other folders
		if within(l.state, v.from) {
			_, part := placeOf(v.from, mounted)
			text += "\x00" + part
		}
	}
	return check(order, entry.State, info, text), nil
}

// check adds one comparison: a path with its device and inode, and further numbers.
func check(order []byte, tag byte, info fs.FileInfo, path string, more ...uint64) []byte {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return order // impossible on Linux
	}
	return entry.Append(order, tag, path, append([]uint64{uint64(stat.Dev), uint64(stat.Ino)}, more...)...) //nolint:unconvert // not 64 bits everywhere
}

// helperLayers names the layers that package entry adds on this kernel.
func helperLayers() []string {
	var list []string
	if landlockVersion() > 0 {
		list = append(list, "landlock")
	}
	if filters() {
		list = append(list, "seccomp")
	}
	return list
}

// helperGaps describes the protection that this kernel lacks.
func helperGaps() []string {
	var list []string
	switch v := landlockVersion(); {
	case v == 0:
		list = append(list, "no Landlock: the kernel is older than 5.13, or Landlock is switched off or forbidden here")
	case v < 6:
		list = append(list, "Landlock here does not restrict abstract sockets and signals (Linux 6.12 does)")
	}
	if !filters() {
		list = append(list, "no seccomp filter for this processor, so a command can set setuid and setgid bits")
	}
	return list
}
