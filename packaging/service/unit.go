package service

import (
	"fmt"
	"strings"
)

// unitService is the part that both units share. The delay between restarts grows from a second to a minute with systemd 254 or newer;
// older versions warn about the two unknown keys and always wait one second. The number of starts is unlimited: hob itself detects
// repeated failures and enters safe mode. After the main process has ended, everything left in its control group is killed. TasksMax
// leaves room for several commands that each reach their own limit of 2,000; systemd's default may be smaller, and then one command could
// keep hob from starting processes.
// Type=notify and WatchdogSec need messages from hob itself (sd_notify(3)). Times are in seconds. KillMode=mixed sends SIGTERM to hob only,
// so that hob can end its commands itself (systemd.kill(5)). UMask keeps the files of hob and its commands private.
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

// unitHardening restricts the system unit. The sandbox of shell commands (bubblewrap) makes namespaces and mounts its own /proc, which
// the kernel forbids if something is mounted over a part of /proc. Therefore ProtectKernelTunables, ProtectKernelLogs, ProtectHostname,
// ProcSubset and RestrictNamespaces are missing, and @mount is allowed. seccomp and Landlock are the second layer, which hob applies
// itself. ProtectControlGroups is missing because each command gets a control group below hob's. Programs that compile at run time (node,
// browsers) need memory that is both writable and executable.
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
SystemCallFilter=@system-service @mount seccomp pidfd_getfd landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
`

// UserUnit returns the systemd unit of one user (systemd.unit(5), systemd.service(5)). home is "" for the default home, path for the PATH of the
// service manager.
func UserUnit(program, home, path string) string {
	var env string
	if home != "" {
		env = "Environment=" + unitQuote("HOB_HOME="+home) + "\n"
	}
	if path != "" {
		env += "Environment=" + unitQuote("PATH="+path) + "\n"
	}
	return "[Unit]\nDescription=hob, a background daemon for chores\nStartLimitIntervalSec=0\n\n[Service]\n" +
		fmt.Sprintf(unitService, env, unitQuote(program)) + "\n[Install]\nWantedBy=default.target\n"
}

// SystemUnit returns the systemd unit of a whole machine: its own user, the home /var/lib/hob, a socket for the group, and few other
// rights.
func SystemUnit(program string) string {
	return "[Unit]\nDescription=hob, a background daemon for chores\nWants=network-online.target\nAfter=network-online.target\nStartLimitIntervalSec=0\n\n[Service]\n" +
		"User=" + SystemUser + "\nGroup=" + SystemUser + "\n" +
		"StateDirectory=hob\nStateDirectoryMode=0700\nRuntimeDirectory=hob\nRuntimeDirectoryMode=0750\nWorkingDirectory=" + SystemHome + "\n" +
		fmt.Sprintf(unitService, "Environment=HOB_HOME="+SystemHome+" HOB_SOCKET="+SystemSocket+"\n", unitQuote(program)) +
		unitHardening + "\n[Install]\nWantedBy=multi-user.target\n"
}

// SystemUsers returns the definition of the system unit's user and group (sysusers.d(5)).
func SystemUsers() string {
	return "u " + SystemUser + " - \"hob, a background daemon for chores\" " + SystemHome + " /usr/sbin/nologin\n"
}

// unitQuote quotes one word of a setting (systemd.syntax(7), "Quoting"). Specifiers begin with %. A dollar sign is literal in
// Environment= and in the path of a program; it begins a variable only in later arguments.
func unitQuote(word string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "%", "%%").Replace(word)
	if escaped == word && !strings.ContainsAny(word, " ';") {
		return word
	}
	return `"` + escaped + `"`
}
