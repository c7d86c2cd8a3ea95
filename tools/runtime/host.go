package runtime

import (
	"maps"
	"slices"
	"strings"

	"hob/tools"
)

// Host is another machine that runs commands through the system's ssh.
type Host struct {
	Address  string   // as ssh takes it: "sam@nas", or a name from the owner's ssh config
	Commands []string // commands that start with one of these run on this host
}

// remote is the script that runs on the host. It runs the command ($1), and ends the whole process
// group of the session when the connection is lost: then its input ends. It uses plain sh, because
// the owner's shell on the host may be any.
const remote = `exec 3<&0 </dev/null
(trap "" HUP TERM; cat <&3; kill -TERM 0; sleep 1; kill -KILL 0) >/dev/null 2>&1 & w=$!
exec 3<&-
s=sh; command -v bash >/dev/null 2>&1 && s=bash
$s -c "$1"; c=$?
kill -KILL $w; exit $c`

// remoteTerminal is remote for a command in a terminal. The kernel of the host hangs up the
// terminal when the connection is lost.
const remoteTerminal = `s=sh; command -v bash >/dev/null 2>&1 && s=bash
exec $s -c "$1"`

// hostOf returns the host that a command runs on, or "" for this machine. The call may name a host.
// Otherwise the longest configured prefix decides that matches the command by whole words.
func (e executor) hostOf(in ExecInput) (string, error) {
	if in.Host != "" {
		if _, ok := e.Hosts[in.Host]; !ok {
			known := strings.Join(slices.Sorted(maps.Keys(e.Hosts)), ", ")
			if known == "" {
				return "", tools.Refuse(tools.Validation, "a host is made by [tools.exec.hosts.NAME] with address = \"user@machine\"", "host: there is no host %q", in.Host)
			}
			return "", tools.Refuse(tools.Validation, "known hosts: "+known, "host: there is no host %q", in.Host)
		}
		return in.Host, nil
	}
	words, best, name := strings.Join(strings.Fields(in.Command), " ")+" ", 0, ""
	for _, host := range slices.Sorted(maps.Keys(e.Hosts)) {
		for _, c := range e.Hosts[host].Commands {
			if c = strings.Join(strings.Fields(c), " "); len(c) > best && strings.HasPrefix(words, c+" ") {
				best, name = len(c), host
			}
		}
	}
	return name, nil
}

// sshArgs builds the command line that runs a command on a host. ssh runs in batch mode and asks no
// questions: the owner's ssh config, keys and agent must suffice.
func (e executor) sshArgs(host string, in ExecInput) ([]string, error) {
	script, terminal := remote, "-T"
	if in.PTY {
		script, terminal = remoteTerminal, "-tt"
	}
	command := in.Command
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(in.Env))) {
		command = "export " + name + "=" + quoted(in.Env[name]) + "\n" + command
	}
	if in.Workdir != "" {
		command = "cd -- " + quotedPath(in.Workdir) + " || exit\n" + command
	}
	line := "exec sh -c " + quoted(script) + " sh " + quoted(command)
	if len(line) > maxCommand {
		return nil, tools.Refuse(tools.Validation, "write it to a file there and run that", "the command is too long for ssh")
	}
	ssh := e.SSH
	if len(ssh) == 0 {
		program, err := e.Sandbox.Program("ssh")
		if err != nil {
			return nil, tools.Refuse(tools.ConfigError, "install ssh", "%v", err)
		}
		ssh = []string{program}
	}
	args := append(slices.Clone(ssh), "-o", "BatchMode=yes", terminal, "--", e.Hosts[host].Address, line)
	return args, nil
}

// quoted quotes a text as one word for any common shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quotedPath quotes a path, and leaves a leading ~ to the shell on the host.
func quotedPath(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return "~/" + quoted(rest)
	}
	if p == "~" {
		return p
	}
	return quoted(p)
}
