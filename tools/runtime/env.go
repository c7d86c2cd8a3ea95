package runtime

import (
	"maps"
	"slices"
	"strings"
)

// marker is the variable by which hob finds the processes of a call again. Its value is INSTANCE/CALL/NONCE.
const marker = "HOB_CALL"

// allowed says whether a variable of hob's own environment is handed on. Everything else, secrets above all, is not.
func allowed(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR",
		"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", // Windows
	}, name)
}

// Handed is what of an environment is handed on to commands: nothing that could be a secret.
func Handed(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !allowed(name)
	})
}

// setting is where a command runs, as far as its environment depends on it.
type setting struct {
	home, zone, cwd, mark string
	boxed                 bool // in the sandbox, which has temporary folders of its own
	pty                   bool // in a terminal
	remote                bool // on a host: ssh needs the owner's agent
}

// environment makes the environment of a command, sorted by name: hob's own as far as it is allowed,
// sensible values for what a service lacks, and what the call gives. That of a host is ssh's: what the call gives is not for it.
func environment(own []string, s setting, given map[string]string) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": s.home, "LANG": "C.UTF-8",
	}
	if s.zone != "" {
		env["TZ"] = s.zone
	}
	for _, kv := range own {
		name, value, _ := strings.Cut(kv, "=")
		temporary := name == "TMPDIR" || name == "TEMP" || name == "TMP"
		if value != "" && (allowed(name) && !(s.boxed && temporary) || s.remote && name == "SSH_AUTH_SOCK") {
			env[name] = value
		}
	}
	env["TERM"] = "dumb"
	if s.pty {
		env["TERM"] = "xterm-256color"
	}
	if !s.remote {
		env["PWD"] = s.cwd
		maps.Copy(env, given)
	}
	env[marker] = s.mark
	return pairs(env)
}

func pairs(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// badName says what is wrong with the name of a variable; "" is nothing.
func badName(name string) string {
	if name == marker {
		return marker + " is hob's own"
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

// steering are variables that make programs run other code than their command line says.
func steering(name string) bool {
	return slices.Contains([]string{"PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "NODE_OPTIONS", "RUBYOPT", "GIT_SSH_COMMAND", "EDITOR", "PAGER"}, name) ||
		strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_")
}
