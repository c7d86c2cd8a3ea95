package entry

import "syscall"

// mount is a line of /proc/self/mountinfo (proc(5)): which folder of which file system is seen where.
type mount struct{ device, root, at string }

// table lists the mounts. It is empty where there is no /proc; then the checks see less.
type table []mount

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

// content is a file of /proc.
func content(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var text []byte
	for buf := make([]byte, 16<<10); ; {
		n, err := syscall.Read(fd, buf)
		switch {
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

// unescaped undoes the \040 of a space and its like.
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

// view wants a path to be a mount of just what hob meant, at the place where that was, and read only where hob meant that. The table has
// today's names: a folder that was moved while it was mounted shows there, also when it was moved back.
func (t table) view(data []byte) string {
	device, rest := cut(string(data[24:]))
	root, path := cut(rest)
	if why := differs(path, data); why != "" {
		return why
	}
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

// differs says of a path that it is not the file or folder that hob meant.
func differs(path string, data []byte) string {
	same, err := is(path, data)
	if err != nil {
		return path + ": " + err.Error()
	}
	if !same {
		return path + " is not what hob had looked at"
	}
	return ""
}

// is compares a path, which is not followed, with the device and inode in front of data.
func is(path string, data []byte) (bool, error) {
	var info syscall.Stat_t
	err := syscall.Lstat(path, &info)
	return err == nil && uint64(info.Dev) == number(data, 8) && uint64(info.Ino) == number(data[8:], 8), err //nolint:unconvert // not 64 bits everywhere
}

// mask wants a path not to show what hob meant to hide. What is not there is not shown.
func (t table) mask(data []byte) string {
	path := string(data[16:])
	shown, err := is(path, data)
	mounted := err != nil || len(t) == 0
	for _, m := range t {
		mounted = mounted || m.at == path
	}
	if shown || !mounted {
		return path + " is not hidden"
	}
	return ""
}

// cut splits a text at its first NUL.
func cut(text string) (string, string) {
	for i := range len(text) {
		if text[i] == 0 {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// state wants hob's state folder, and what is in it, to be shown by no mount.
func (t table) state(data []byte) string {
	device, inside := cut(string(data[16:]))
	for _, m := range t {
		if m.device != device {
			continue
		}
		var info syscall.Stat_t
		if rest, ok := below(m.root, inside); ok {
			if shown, _ := is(m.at+rest, data); shown {
				return "hob's state folder is seen as " + m.at + rest
			}
		} else if _, ok := below(inside, m.root); ok && syscall.Lstat(m.at, &info) == nil && uint64(info.Dev) == number(data, 8) { //nolint:unconvert // not 64 bits everywhere
			return "a part of hob's state folder is seen as " + m.at
		}
	}
	return ""
}

// below is what follows dir in a path that is dir or lies in it.
func below(dir, path string) (string, bool) {
	if dir == "/" {
		return path, true
	}
	rest, ok := after(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}
