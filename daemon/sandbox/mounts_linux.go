package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo (proc(5)): a folder of a file system, and the path at which it is mounted.
type mount struct {
	device string // major:minor
	root   string // the folder inside the file system
	at     string // the mount point
}

// mountTable lists the mounts of this process.
func mountTable() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts of this machine: %w", err)
	}
	return mounts(string(text)), nil
}

// aliases returns masks for the places in the views at which another mount of the machine shows the state folder. state is resolved.
func aliases(state string, views []view, all []mount) []mask {
	var list []mask
	for _, place := range namesOf(state, all) {
		for _, v := range views {
			if within(v.from, place) {
				list = append(list, mask{at: v.at + place[len(v.from):], folder: true})
			}
		}
	}
	return list
}

// placeOf returns the mount that contains a folder, and the folder's path inside that file system.
func placeOf(folder string, all []mount) (home mount, inside string) {
	for _, m := range all { // the innermost mount, and the last of several at one place
		if within(m.at, folder) && len(m.at) >= len(home.at) {
			home = m
		}
	}
	if home.at == "" {
		return home, ""
	}
	return home, join(home.root, folder[len(strings.TrimSuffix(home.at, "/")):])
}

// namesOf lists the other paths at which a mount shows a folder or a part of it.
func namesOf(folder string, all []mount) []string {
	home, inside := placeOf(folder, all)
	if home.at == "" {
		return nil
	}
	var list []string
	for _, m := range all {
		switch {
		case m.device != home.device || m == home:
		case within(m.root, inside):
			list = append(list, join(m.at, inside[len(strings.TrimSuffix(m.root, "/")):]))
		case within(inside, m.root):
			list = append(list, m.at)
		}
	}
	return list
}

// join appends a path that begins with a slash, or is empty, to a folder.
func join(dir, rest string) string {
	path := strings.TrimSuffix(dir, "/") + rest
	return cmp.Or(path, "/")
}

// mounts parses the text of mountinfo.
func mounts(text string) []mount {
	var list []mount
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 4 {
			list = append(list, mount{f[2], unescape(f[3]), unescape(f[4])})
		}
	}
	return list
}

// unescape decodes the octal escapes of mountinfo, for example \040 for a space.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
