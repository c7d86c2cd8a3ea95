// This file builds the environment of commands. It passes on none of hob's secrets.

package runtime

import (
	"maps"
	"slices"
	"strings"
)

// CallMark is the variable that identifies the processes of one call. Its value is
// INSTANCE/CALL/NONCE.
const CallMark = "HOB_CALL"

// handedOn reports whether commands inherit a variable of hob's own environment. This is an allow
// list: anything else may be a secret.
func handedOn(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR",
		"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", // Windows
	}, name)
}

// HandedOn returns the part of an environment that commands inherit. It contains nothing that could
// be a secret.
func HandedOn(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !handedOn(name)
	})
}

// environSetting holds the facts about a command that its environment depends on.
type environSetting struct {
	Home, Zone, Cwd string
	Mark            string // value of CallMark
	Sandboxed       bool   // in a sandbox, which has its own temporary folders
	PTY             bool   // in a terminal
	Remote          bool   // on a remote host: ssh needs the owner's agent
}

// newEnviron builds the environment of a command, sorted by name: the allowed part of hob's own,
// defaults for variables that a service lacks, and the variables of the call. On a remote host this
// is the environment of the local ssh, so it excludes the variables of the call.
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
		if value != "" && (handedOn(name) && !(s.Sandboxed && temporary) || s.Remote && name == "SSH_AUTH_SOCK") {
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

// shell returns the path of the shell that commands are written for: bash, else sh, or "" if there
// is neither. look finds a program. The user's login shell is ignored, because that of a service
// account often refuses to run.
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

// badVariable returns what is wrong with the name of a variable, or "".
func badVariable(name string) string {
	if name == CallMark {
		return CallMark + " is reserved for hob"
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

// Steering reports whether a variable can make programs run other code than their command line
// says. The list covers shells, interpreters, and the variables of the dynamic loader and the C
// library (ld.so(8), those ignored in setuid programs).
func Steering(name string) bool {
	return Loading(name) || slices.Contains([]string{
		"PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "PERL5LIB",
		"NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "EDITOR", "VISUAL", "PAGER",
		"LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "TZDIR",
	}, name)
}

// Loading reports whether a variable loads code into every program that starts.
func Loading(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || name == "GLIBC_TUNABLES" || name == "GCONV_PATH"
}
