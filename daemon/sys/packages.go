package sys

import "os/exec"

// PackageCommand returns the command that installs a package on this system, or removes it, for a hint. Where no known package manager is
// found it is that of Debian.
func PackageCommand(name string, remove bool) string {
	managers := [][3]string{{"apt", "install", "remove"}, {"dnf", "install", "remove"}, {"zypper", "install", "remove"}, {"apk", "add", "del"}, {"pacman", "-S", "-R"}}
	found := managers[0]
	for _, m := range managers {
		if _, err := exec.LookPath(m[0]); err == nil {
			found = m
			break
		}
	}
	verb := found[1]
	if remove {
		verb = found[2]
	}
	return "sudo " + found[0] + " " + verb + " " + name
}
