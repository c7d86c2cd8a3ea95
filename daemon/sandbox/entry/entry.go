//go:build linux || darwin

package entry

import "syscall"

// This initialiser runs before main and before nearly every other package of hob.
// docs/decisions/0007-the-sandbox-is-entered-before-main.md says why.
var _ = enter()

// enter returns at once unless hob started this process to enter a sandbox. In that case it never returns.
func enter() bool {
	word, ok := syscall.Getenv(Variable)
	if !ok {
		return false
	}
	code, why := serve(word)
	// Nothing but syscall is imported here, so there is no log: the text goes to the command's stderr.
	write(2, "hob: "+why+"\n")
	syscall.Exit(code)
	return true
}

// serve confines the process and becomes the command. It returns only after a failure, with the exit code that a shell would give: 127
// for a program that was not found, 126 for one that cannot run, 125 if the process could not be confined.
func serve(word string) (code int, why string) {
	if word != Spelled {
		return 125, "cannot be confined: " + Variable + " may be set by hob only"
	}
	o, why := read(Descriptor)
	if why == "" {
		why = o.confine()
	}
	if why != "" {
		return 125, "cannot be confined: " + why
	}
	program := find(o.argv[0], o.env)
	if program == "" {
		return 127, "run " + o.argv[0] + ": not found"
	}
	// hob reads Ready from the pipe and knows that a later failure is that of the command.
	if why := o.ready(); why != "" {
		return 125, "cannot be confined: " + why
	}
	err := syscall.Exec(program, o.argv, o.env) // #nosec G204 -- the command that hob was asked to run
	code = 126
	if err == syscall.ENOENT {
		code = 127
	}
	return code, "run " + program + ": " + err.Error()
}

// order holds the instructions from hob.
type order struct {
	argv, env []string
	rules     []record // checks and restrictions, which confine carries out in this order
	listener  int      // for the calls that hob decides about; 0: none
}

// ready reports to hob that the command begins. It fails if hob has died: nothing else would end the command then.
func (o *order) ready() string {
	var err error
	if o.listener == 0 {
		_, err = syscall.Write(Status, []byte(Ready))
	} else { // the kernel made the listener close-on-exec
		err = syscall.Sendmsg(Status, []byte(Ready), syscall.UnixRights(o.listener), nil, 0)
	}
	if err != nil {
		return "report to hob: " + err.Error()
	}
	return ""
}

// record is one instruction that is not part of the command line or environment.
type record struct {
	tag  byte
	data []byte
}

// read reads the instructions from their descriptor. It marks that descriptor and the status pipe close-on-exec, so that the command does
// not inherit them.
func read(fd int) (order, string) {
	syscall.CloseOnExec(fd)
	syscall.CloseOnExec(Status)
	var text []byte
	// Pread begins at the start of the file, wherever hob left its position.
	for buf := make([]byte, 64<<10); ; {
		n, err := syscall.Pread(fd, buf, int64(len(text)))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return order{}, "read the order: " + err.Error()
		}
		if n == 0 {
			break
		}
		text = append(text, buf[:n]...)
	}
	var o order
	for len(text) > 0 {
		if len(text) < head {
			return order{}, "the order is cut off"
		}
		tag, size := text[0], number(text[1:], head-1)
		if text = text[head:]; size > uint64(len(text)) {
			return order{}, "the order is cut off"
		}
		switch data := text[:size]; tag {
		case Arg:
			o.argv = append(o.argv, string(data))
		case Env:
			o.env = append(o.env, string(data))
		default:
			o.rules = append(o.rules, record{tag, data})
		}
		text = text[size:]
	}
	if len(o.argv) == 0 {
		return order{}, "the order holds no command"
	}
	return o, ""
}

// find searches PATH for a program as a shell does; "": not found. Relative folders of PATH are skipped.
func find(name string, env []string) string {
	path := ""
	for _, pair := range env {
		if rest, ok := after(pair, "PATH="); ok {
			path = rest
		}
	}
	if contains(name, '/') {
		return name
	}
	for len(path) > 0 {
		dir := path
		for i := range path {
			if path[i] == ':' {
				dir = path[:i]
				break
			}
		}
		if path = path[min(len(dir)+1, len(path)):]; dir == "" || dir[0] != '/' {
			continue
		}
		var info syscall.Stat_t
		file := dir + "/" + name
		if syscall.Stat(file, &info) == nil && info.Mode&syscall.S_IFMT == syscall.S_IFREG && info.Mode&0o111 != 0 {
			return file
		}
	}
	return ""
}

// after returns text without its prefix.
func after(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || text[:len(prefix)] != prefix {
		return "", false
	}
	return text[len(prefix):], true
}

func contains(text string, c byte) bool {
	for i := range len(text) {
		if text[i] == c {
			return true
		}
	}
	return false
}

// number decodes a little-endian number of size bytes.
func number(data []byte, size int) (n uint64) {
	for i := range size {
		n |= uint64(data[i]) << (8 * i)
	}
	return n
}

// write writes a text. An error is ignored, because there is no other place to report it.
func write(fd int, text string) {
	_, _ = syscall.Write(fd, []byte(text))
}
