package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

// profile returns the rules for sandbox-exec(1) of macOS. Apple does not document the language; the source is Apple's own profiles in
// /System/Library/Sandbox/Profiles. The last matching rule wins, so the order is: deny all, system, the folders of the sandbox from the
// outside in, masks, scratch.
func profile(c Config, l layout) string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rule("(version 1)")
	rule("(deny default)")
	rule("(allow process-fork process-exec)")
	rule("(allow process-info* signal (target same-sandbox))")
	rule("(allow sysctl-read)")
	rule("(allow file-read-metadata)") // names and sizes on the path to a folder, no content
	rule("(allow file-read* (literal \"/\") %s)", subpaths(macFolders()))
	rule("(allow file-read* file-write* file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\") (subpath \"/dev/fd\"))")
	rule("(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\"))")
	rule("(allow pseudo-tty)")
	rule("(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.system.logger\"))")
	if !l.offline {
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
	// hob's own executable enters the sandbox and becomes the command. No command may change it.
	rule("(allow file-read* (literal %s))", quote(c.Self))
	rule("(deny file-write* (literal %s))", quote(c.Self))
	// No command may gain the rights of another program.
	rule("(deny process-exec (with no-log) (literal \"/usr/bin/su\") (literal \"/usr/bin/sudo\") (literal \"/usr/bin/osascript\") (literal \"/usr/bin/open\") (literal \"/bin/launchctl\"))")
	return b.String()
}

// macFolders lists the system folders that a command sees on a Mac, read only.
func macFolders() []string {
	return []string{
		"/bin", "/sbin", "/usr", "/System", "/Library", "/opt", "/Applications", "/private/etc", "/private/var/db/timezone", "/private/var/db/dyld",
		"/private/var/select",
	}
}

// subpaths formats a list of folders as rule operands.
func subpaths(list []string) string {
	var words []string
	for _, path := range list {
		words = append(words, "(subpath "+quote(path)+")")
	}
	return strings.Join(words, " ")
}

// quote formats a string literal of the profile language.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.ToSlash(path)) + `"`
}
