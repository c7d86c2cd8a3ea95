package runtime

import (
	"path"
	"slices"
	"strings"
)

// judge looks for the five mistakes that are refused in every mode, and for those that only cause a
// warning.
func (x *inspector) judge(name string, args []string) {
	switch {
	case name == "rm":
		x.remove(args)
	case name == "find":
		x.find(args)
	case name == "chmod", name == "chown", name == "chgrp", name == "setfacl":
		x.permissions(name, args)
	case name == "dd":
		for _, a := range args {
			if to, ok := strings.CutPrefix(a, "of="); ok {
				x.raw(to)
			}
		}
	case makesFileSystem(name):
		if slices.ContainsFunc(args, func(a string) bool { return isDevice(x.state.absolute(a)) }) {
			x.verdict.deny("making a file system on a device")
		}
	case name == "diskutil" && len(args) > 0 && (strings.HasPrefix(strings.ToLower(args[0]), "erase") || strings.HasPrefix(strings.ToLower(args[0]), "partition")):
		x.verdict.deny("making a file system on a device")
	case name == "tee", name == "shred", name == "wipefs", name == "blkdiscard", name == "mkswap", name == "truncate":
		for _, a := range args {
			x.raw(a)
		}
	case (name == "cp" || name == "mv" || name == "pv") && len(args) > 0:
		x.raw(args[len(args)-1])
	}
}

// raw denies a write to a device that holds data.
func (x *inspector) raw(to string) {
	if isDevice(x.state.absolute(to)) {
		x.verdict.deny("writing raw to a device")
	}
}

// remove examines an rm.
func (x *inspector) remove(args []string) {
	recursive := hasFlag(args, "rR", "--recursive")
	if recursive && hasFlag(args, "f", "--force") {
		x.verdict.warn("removes folders without asking (rm -rf)")
	}
	if !recursive {
		return
	}
	for _, a := range operands(args) {
		if x.state.precious(a) {
			x.verdict.deny("removing the root folder or the home")
		}
		if strings.Contains(a, unknown) {
			x.verdict.warn("removes what a variable or another command names")
		}
	}
}

// find denies a find without a test that removes everything below the root folder or the home.
func (x *inspector) find(args []string) {
	i := slices.IndexFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") && a != "-H" && a != "-L" && a != "-P" || a == "(" || a == "!"
	})
	if i < 0 {
		return
	}
	where, rest := args[:i], args[i:]
	removes := slices.Contains(rest, "-delete")
	if e := slices.IndexFunc(rest, func(a string) bool { return a == "-exec" || a == "-execdir" }); e >= 0 && e+1 < len(rest) {
		removes = removes || path.Base(rest[e+1]) == "rm"
		rest = rest[:e]
	}
	// A find with any other test does not match everything, so it is not denied.
	harmless := []string{"-delete", "-depth", "-xdev", "-mount", "-mindepth", "-maxdepth", "-type", "-print", "-exec", "-execdir"}
	for _, a := range rest {
		if strings.HasPrefix(a, "-") && !slices.Contains(harmless, a) {
			return
		}
	}
	if removes && slices.ContainsFunc(where, x.state.precious) {
		x.verdict.deny("removing the root folder or the home")
	}
}

// permissions examines chmod, chown and their like.
func (x *inspector) permissions(name string, args []string) {
	ops := operands(args)
	if name == "chmod" && len(ops) > 0 && (strings.HasSuffix(ops[0], "777") || strings.Contains(ops[0], "a+w") || strings.Contains(ops[0], "o+w") || ops[0] == "+w") {
		x.verdict.warn("lets everybody write (chmod 777)")
	}
	recursive := hasFlag(args, "R", "--recursive")
	for _, a := range ops {
		dir, all := x.state.folderOf(a)
		if dir == "/" && (recursive || !all) {
			x.verdict.deny("changing the root folder's permissions")
		}
	}
}

// hasFlag reports whether a short option contains one of the letters, or the long option is given.
func hasFlag(args []string, letters, long string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		if a == long || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(a, letters) {
			return true
		}
	}
	return false
}

// operands returns the arguments that are not options.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") {
			out = append(out, a)
		}
	}
	return out
}

// makesFileSystem reports whether a program formats a device.
func makesFileSystem(name string) bool {
	return name == "mkfs" || strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "newfs") ||
		slices.Contains([]string{"mke2fs", "mkdosfs", "mkntfs", "mkexfatfs"}, name)
}

// isDevice reports whether a path names a device that holds data: a disk, a partition or memory.
func isDevice(p string) bool {
	name, ok := strings.CutPrefix(p, "/dev/")
	if !ok {
		return false
	}
	if name == "mem" || name == "kmem" || name == "port" || name == "root" {
		return true
	}
	kinds := []string{
		"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "mapper/", "disk", "rdisk", "loop", "sr", "sg", "nbd", "rbd",
		"zd", "zvol/", "mtd", "ubi", "ram", "zram", "bcache", "block/",
	}
	return slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(name, k) })
}

// isShell reports whether a program is a shell.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash"}, name)
}

// isInterpreter reports whether a program runs the text that it gets.
func isInterpreter(name string) bool {
	return isShell(name) || strings.HasPrefix(name, "python") || slices.Contains([]string{"perl", "ruby", "node", "php"}, name)
}

// starter reports whether the arguments of a program are another command.
func starter(name string) bool {
	return slices.Contains([]string{
		"sudo", "doas", "pkexec", "run0", "env", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf", "command", "builtin", "exec",
		"xargs", "busybox", "toybox", "chroot", "unshare", "systemd-run", "strace", "flock", "parallel", "watch",
	}, name)
}

// judged reports whether the inspector has a rule for a program.
func judged(name string) bool {
	return slices.Contains([]string{
		"rm", "find", "chmod", "chown", "chgrp", "setfacl", "dd", "diskutil", "tee", "shred", "wipefs", "blkdiscard", "mkswap", "truncate",
		"cp", "mv", "pv", "eval",
	}, name) || makesFileSystem(name) || isShell(name) || starter(name)
}
