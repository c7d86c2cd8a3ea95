package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

// profile is what sandbox-exec(1) of macOS puts on a command. Apple does not describe the language; its own profiles in
// /System/Library/Sandbox/Profiles are the source. The last rule that matches counts, so the order is: nothing, the system, the
// box's folders from the outside in, what is hidden, scratch.
func profile(c Config, l layout) string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rule("(version 1)")
	rule("(deny default)")
	rule("(allow process-fork process-exec)")
	rule("(allow process-info* signal (target same-sandbox))")
	rule("(allow sysctl-read)")
	rule("(allow file-read-metadata)") // names and sizes on the way to a folder; no content
	rule("(allow file-read* (literal \"/\") %s)", subpaths(macFolders()))
	rule("(allow file-read* file-write* file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\") (subpath \"/dev/fd\"))")
	rule("(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\"))")
	rule("(allow pseudo-tty)")
	rule("(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.system.logger\"))")
	if c.Network {
		rule("(allow network-outbound (remote ip))")
		rule("(allow network-inbound (local ip))")
		rule("(allow system-socket)")
		rule("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))")
		rule("(allow mach-lookup (global-name \"com.apple.SystemConfiguration.configd\") (global-name \"com.apple.trustd.agent\"))")
	}
	rule("(deny file-read* file-write* %s)", subpaths([]string{"/private/etc/master.passwd", "/private/etc/sudoers", "/Library/Keychains"}))
	for _, v := range l.views {
		if v.write {
			rule("(allow file-read* file-write* (subpath %s))", quote(v.from))
		} else {
			rule("(allow file-read* (subpath %s))", quote(v.from))
			rule("(deny file-write* (subpath %s))", quote(v.from))
		}
	}
	for _, m := range l.masks {
		rule("(deny file-read* file-write* process-exec (subpath %s))", quote(m.at))
	}
	if l.scratch != nil {
		rule("(allow file-read* file-write* (subpath %s))", quote(l.scratch.at))
	}
	rule("(deny file-read* file-write* process-exec (subpath %s))", quote(c.State))
	rule("(deny file-write-setugid)")
	// hob's own executable enters the sandbox and becomes the command; nobody inside may change it.
	rule("(allow file-read* (literal %s))", quote(c.Self))
	rule("(deny file-write* (literal %s))", quote(c.Self))
	// Nobody may leave by another program's rights.
	rule("(deny process-exec (with no-log) (literal \"/usr/bin/su\") (literal \"/usr/bin/sudo\") (literal \"/usr/bin/osascript\") (literal \"/usr/bin/open\") (literal \"/bin/launchctl\"))")
	return b.String()
}

// macFolders are what a command sees of a Mac, read only.
func macFolders() []string {
	return []string{
		"/bin", "/sbin", "/usr", "/System", "/Library", "/opt", "/Applications", "/private/etc", "/private/var/db/timezone", "/private/var/db/dyld",
		"/private/var/select",
	}
}

func subpaths(list []string) string {
	var words []string
	for _, path := range list {
		words = append(words, "(subpath "+quote(path)+")")
	}
	return strings.Join(words, " ")
}

// quote writes a string of the profile's language.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.ToSlash(path)) + `"`
}
