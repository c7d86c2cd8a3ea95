package entry

import "syscall"

// mount is a line of /proc/self/mountinfo (proc(5)): a folder of a file system, and the path at which it is mounted.
type mount struct{ device, root, at string }

// table lists the mounts. It is empty if there is no /proc; the checks then compare inodes only.
type table []mount

// mounts reads the table of this process. The second result is an error text, as everywhere in this package: package errors is not
// imported.
func mounts() (table, string) {
	text, err := content("/proc/self/mountinfo")
	if err == syscall.ENOENT { //nolint:errorlint // open(2) gives this very value, and this package imports nothing but syscall
		return nil, ""
	}
	if err != nil {
		return nil, "read mountinfo: " + err.Error()
	}
	var all table
	var fields []string
	start := 0
	for i, c := range text {
		if c != ' ' && c != '\n' {
			continue
		}
		// Fields 3 to 5 of a line are the device, the root in its file system, and the mount point (proc(5), mountinfo).
		if len(fields) < 5 {
			fields = append(fields, unescaped(text[start:i]))
		}
		start = i + 1
		if c == '\n' {
			if len(fields) == 5 {
				all = append(all, mount{fields[2], fields[3], fields[4]})
			}
			fields = nil
		}
	}
	return all, ""
}

// content reads a file of /proc.
func content(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var text []byte
	for buf := make([]byte, 16<<10); ; {
		n, err := syscall.Read(fd, buf)
		switch {
		// A signal interrupted the call; it is made again.
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return text, syscall.Close(fd)
		default:
			text = append(text, buf[:n]...)
		}
	}
}

// unescaped decodes the octal escapes of mountinfo, for example \040 for a space.
func unescaped(text []byte) string {
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			out = append(out, (text[i+1]-'0')<<6|(text[i+2]-'0')<<3|(text[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

// view checks that a path is a mount of exactly the folder that hob meant, and that it is read only if hob asked for that. mountinfo
// shows the current path of a folder, so a folder that was moved is detected even if it was moved back.
func (t table) view(data []byte) string {
	device, rest := splitAtNUL(string(data[24:]))
	root, path := splitAtNUL(rest)
	if why := differs(path, data); why != "" {
		return why
	}
	// Without /proc there is no table, and the inode alone must suffice.
	mounted := len(t) == 0
	for _, m := range t {
		mounted = mounted || m == mount{device, root, path}
	}
	if !mounted {
		return path + " is not mounted, or was moved"
	}
	if number(data[16:], 8) == 0 {
		return ""
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return path + ": " + err.Error()
	}
	if fs.Flags&readOnly == 0 {
		return path + " can be written"
	}
	return ""
}

// differs returns an error text if a path is not the file or folder that hob meant.
func differs(path string, data []byte) string {
	same, err := is(path, data)
	if err != nil {
		return path + ": " + err.Error()
	}
	if !same {
		return path + " is not the one that hob had checked"
	}
	return ""
}

// is compares a path (without following a link) with the device and inode at the start of data.
func is(path string, data []byte) (bool, error) {
	var info syscall.Stat_t
	err := syscall.Lstat(path, &info)
	return err == nil && uint64(info.Dev) == number(data, 8) && uint64(info.Ino) == number(data[8:], 8), err //nolint:unconvert // not 64 bits everywhere
}

// mask checks that a path does not show the file or folder that hob hides. A path that does not exist is fine.
func (t table) mask(data []byte) string {
	path := string(data[16:])
	shown, err := is(path, data)
	// A mask is always a mount. Without one, the path shows what the folder below it has.
	mounted := err != nil || len(t) == 0
	for _, m := range t {
		mounted = mounted || m.at == path
	}
	if shown || !mounted {
		return path + " is not hidden"
	}
	return ""
}

// splitAtNUL splits a text at its first NUL.
func splitAtNUL(text string) (string, string) {
	for i := range len(text) {
		if text[i] == 0 {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// state checks that no mount shows hob's state folder or anything in it, but for the folders in it that a view is meant to show.
func (t table) state(data []byte) string {
	device, rest := splitAtNUL(string(data[16:]))
	inside, meant := splitAtNUL(rest)
	for _, m := range t {
		if m.device != device {
			continue
		}
		var info syscall.Stat_t
		// The mount shows a folder above the state folder, which is then visible below the mount point.
		if listed(meant, m.root) {
			continue
		}
		if rest, ok := below(m.root, inside); ok {
			if shown, _ := is(m.at+rest, data); shown {
				return "hob's state folder is visible as " + m.at + rest
			}
		} else if _, ok := below(inside, m.root); ok && syscall.Lstat(m.at, &info) == nil && uint64(info.Dev) == number(data, 8) { //nolint:unconvert // not 64 bits everywhere
			return "a part of hob's state folder is visible as " + m.at
		}
	}
	return ""
}

// listed reports whether a path is in a list that is separated by NUL.
func listed(list, path string) bool {
	for list != "" {
		var one string
		if one, list = splitAtNUL(list); one == path {
			return true
		}
	}
	return false
}

// below returns the rest of a path after dir. ok is false if the path is not dir and not below it.
func below(dir, path string) (string, bool) {
	if dir == "/" {
		return path, true
	}
	rest, ok := after(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}
