// This file makes the environment that commands get. It hands none of hob's secrets on.

package runtime

import (
	"maps"
	"slices"
	"strings"
)

// Mark is the variable by which hob finds the processes of a call again. Its value is INSTANCE/CALL/NONCE.
const CallMark = "HOB_CALL"

// handedOn says whether a variable of hob's own environment is handed on. Everything else, secrets above all, is not.
func handedOn(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR",
		"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", // Windows
	}, name)
}

// HandedOn is what of an environment is handed on to commands: nothing that could be a secret.
func HandedOn(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !handedOn(name)
	})
}

// environSetting is where a command runs, as far as its environment depends on it.
type environSetting struct {
	Home, Zone, Cwd string
	Mark            string // value of the variable Mark
	Boxed           bool   // in the sandbox, which has temporary folders of its own
	PTY             bool   // in a terminal
	Remote          bool   // on a host: ssh needs the owner's agent
}

// newEnviron makes the environment of a command, sorted by name: hob's own as far as it is allowed,
// sensible values for what a service lacks, and what the call gives. That of a host is ssh's: what the call gives is not for it.
func newEnviron(own []string, s environSetting, given map[string]string) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": s.Home, "LANG": "C.UTF-8",
	}
	if s.Zone != "" {
		env["TZ"] = s.Zone
	}
	for _, kv := range own {
		name, value, _ := strings.Cut(kv, "=")
		temporary := name == "TMPDIR" || name == "TEMP" || name == "TMP"
		if value != "" && (handedOn(name) && !(s.Boxed && temporary) || s.Remote && name == "SSH_AUTH_SOCK") {
			env[name] = value
		}
	}
	env["TERM"] = "dumb"
	if s.PTY {
		env["TERM"] = "xterm-256color"
	}
	if !s.Remote {
		env["PWD"] = s.Cwd
		maps.Copy(env, given)
	}
	env[CallMark] = s.Mark
	return environPairs(env)
}

// shell is the shell that commands are written for: bash, else sh; "" if there is neither. look finds a program. The user's own
// shell is not asked for: that of a service's user is often one that lets nobody in.
func shell(look func(name string) (path string, err error)) string {
	for _, name := range []string{"bash", "sh"} {
		if path, err := look(name); err == nil {
			return path
		}
	}
	return ""
}

// environPairs lists variables as NAME=VALUE, sorted by name.
func environPairs(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// badVariable says what is wrong with the name of a variable; "" is nothing.
func badVariable(name string) string {
	if name == CallMark {
		return CallMark + " is hob's own"
	}
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return "want letters, digits and _"
		}
	}
	if name == "" {
		return "the name is empty"
	}
	return ""
}

// Steering reports whether a variable can make programs run other code than their command line says: shells and interpreters, and what
// the dynamic loader and the C library read (ld.so(8), the variables that they ignore in a setuid program).
func Steering(name string) bool {
	return Loading(name) || slices.Contains([]string{
		"PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "PERL5LIB",
		"NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "EDITOR", "VISUAL", "PAGER",
		"LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "TZDIR",
	}, name)
}

// Loading reports whether a variable has code loaded into every program that starts.
func Loading(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || name == "GLIBC_TUNABLES" || name == "GCONV_PATH"
}
