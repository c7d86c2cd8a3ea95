package service

import (
	"fmt"
	"strings"
)

// What both units say. The delay between restarts grows from a second to a minute where systemd is 254 or newer; an older one
// warns of the two keys that it does not know and waits a second each time. There is no limit to the starts: hob itself finds what
// makes it fail and goes into safe mode. After the main process, whatever is left in its control group is killed. TasksMax has room for
// several commands that each reach their own limit of 2,000: systemd's default may be less than that, and then one command would keep
// hob from starting processes.
const unitService = `Type=notify
NotifyAccess=main
%sExecStart=%s up --no-chat
Restart=always
RestartSec=1
RestartSteps=8
RestartMaxDelaySec=60
WatchdogSec=180
TimeoutStartSec=300
TimeoutStopSec=20
TimeoutAbortSec=5
KillMode=mixed
Delegate=memory pids
TasksMax=16384
UMask=0077
`

// What the unit of a whole machine may not touch. The sandbox of shell commands (bubblewrap) makes namespaces and mounts a
// /proc of its own, which the kernel forbids below a /proc that has something mounted over it: so there is no
// ProtectKernelTunables, ProtectKernelLogs, ProtectHostname, ProcSubset or RestrictNamespaces, and @mount is allowed. Its second
// layer, which hob itself puts on, is seccomp and landlock. Nor is there ProtectControlGroups: each command gets a control group in hob's.
// Programs that compile while they run (node, browsers) need memory that is writable and executable.
const unitHardening = `NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectClock=yes
ProtectKernelModules=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service @mount seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
`

// UserUnit is the systemd unit of one user (systemd.unit(5), systemd.service(5)). home is "" for the default one.
func UserUnit(program, home string) string {
	var env string
	if home != "" {
		env = "Environment=" + unitQuote("HOB_HOME="+home) + "\n"
	}
	return "[Unit]\nDescription=hob, a background daemon for chores\nStartLimitIntervalSec=0\n\n[Service]\n" +
		fmt.Sprintf(unitService, env, unitQuote(program)) + "\n[Install]\nWantedBy=default.target\n"
}

// SystemUnit is the systemd unit of a whole machine: a user of its own, the home /var/lib/hob, a socket for the group, and
// little else that it may touch.
func SystemUnit(program string) string {
	return "[Unit]\nDescription=hob, a background daemon for chores\nWants=network-online.target\nAfter=network-online.target\nStartLimitIntervalSec=0\n\n[Service]\n" +
		"User=" + SystemUser + "\nGroup=" + SystemUser + "\n" +
		"StateDirectory=hob\nStateDirectoryMode=0700\nRuntimeDirectory=hob\nRuntimeDirectoryMode=0750\nWorkingDirectory=" + SystemHome + "\n" +
		fmt.Sprintf(unitService, "Environment=HOB_HOME="+SystemHome+" HOB_SOCKET="+SystemSocket+"\n", unitQuote(program)) +
		unitHardening + "\n[Install]\nWantedBy=multi-user.target\n"
}

// SystemUsers makes the user and group of the system unit (sysusers.d(5)).
func SystemUsers() string {
	return "u " + SystemUser + " - \"hob, a background daemon for chores\" " + SystemHome + " /usr/sbin/nologin\n"
}

// unitQuote writes one word of a setting (systemd.syntax(7), "Quoting"): specifiers begin with %. A dollar stands for itself in
// Environment= and in the path of a program; only in the arguments behind that would it begin a variable.
func unitQuote(word string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "%", "%%").Replace(word)
	if escaped == word && !strings.ContainsAny(word, " ';") {
		return word
	}
	return `"` + escaped + `"`
}
