package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/sandbox"
)

// attempt is one escape attempt: a command for bash. It prints BREACH itself if no canary would notice.
type attempt struct {
	name, command string
	tame          bool // it succeeds, harmlessly, without a sandbox; that proves the attempt real
}

// attempts lists all attempts.
func attempts(w *machine) []attempt {
	var list []attempt
	for group := folders(); len(group) > 1; group = group[2:] { // first, since later attempts make files of those names
		list = append(list, attempt{name: group[0], command: group[1]})
	}
	for _, name := range names(w.secrets) {
		list = append(list, readers(name)...)
		list = append(list, writers(name)...)
	}
	for _, name := range names(w.locked) {
		list = append(list, writers(name)...)
	}
	for _, group := range [][]string{processes(), network(), kernel(), devices(), calls()} {
		for i := 0; i < len(group); i += 2 {
			list = append(list, attempt{name: group[i], command: group[i+1]})
		}
	}
	return list
}

// readers lists ways to read the file named by a variable.
func readers(name string) []attempt {
	f := `"$` + name + `"`
	list := []attempt{
		{"cat", `cat F`, true},
		{"redirect", `echo "$(<F)"`, true},
		{"planted link", `cat "$WS/link-NAME"`, true},
		{"own link", `rm -f "$WS/l"; ln -s F "$WS/l"; cat "$WS/l"`, true},
		{"hard link", `rm -f "$WS/h"; ln F "$WS/h"; cat "$WS/h"`, false},
		{"root of this process", `cat /proc/self/root/F`, true},
		{"root of the first process", `cat /proc/1/root/F`, false},
		{"root of the parent", `cat /proc/$PPID/root/F`, true},
		{"root of the host's process", `cat /proc/$VICTIM/root/F; cat /proc/$HOST/root/F`, false},
		{"dots", `cd "$WS" && cat ../../../../../../../../../../F`, true},
		{"copy", `cp F "$WS/copy" && cat "$WS/copy"; rm -f "$WS/copy"`, true},
		{"tar", `tar -cf - F | tar -xOf -`, true},
		{"dd", `dd if=F bs=1 count=64`, true},
		{"source", `. F`, true},
		{"find", `find "$(dirname F)" -maxdepth 1 -type f -exec cat {} +`, true},
		{"open by the folder", `cd "$(dirname F)" && cat "$(basename F)"`, true},
		{"move the folder away", `p=$(dirname F); mv "$p" "$WS/moved" && cat "$WS/moved/"*; [ -d "$WS/moved" ] && mv "$WS/moved" "$p"`, false},
		{"user namespace", `unshare -Ur cat F`, false},
		{"take the mask off", `unshare -Urm bash -c 'umount -l "$(dirname F)"; umount -l F; cat F'`, false},
	}
	for i := range list {
		list[i].name = "read " + name + ": " + list[i].name
		list[i].command = strings.ReplaceAll(strings.ReplaceAll(list[i].command, "F", f), "NAME", name)
		if strings.Contains(list[i].command, `'umount`) {
			list[i].command = strings.ReplaceAll(list[i].command, `"`+f+`"`, f)
		}
	}
	return list
}

// writers lists ways to change the file named by a variable. Where the file is not visible, a sandbox may make one of that name for
// itself.
func writers(name string) []attempt {
	list := []attempt{
		{name: "write", command: `echo pwned > F`},
		{name: "append by a link", command: `rm -f "$WS/l"; ln -s F "$WS/l"; echo pwned >> "$WS/l"`},
		{name: "remove", command: `rm -f F`},
		{name: "replace", command: `echo pwned > "$WS/new"; mv -f "$WS/new" F`},
		{name: "rights", command: `chmod 777 F`},
		{name: "owner", command: `chown 1:1 F; chgrp 1 F`},
		{name: "truncate", command: `truncate -s 0 F`},
		{name: "by the root of the first process", command: `echo pwned > /proc/1/root/F`},
		{name: "remount", command: `mount -o remount,rw,bind F; mount -o remount,rw,bind "$(dirname F)"; echo pwned > F`},
	}
	for i := range list {
		list[i].name = "write " + name + ": " + list[i].name
		list[i].command = strings.ReplaceAll(list[i].command, "F", `"$`+name+`"`)
	}
	return list
}

// From here on: pairs of name and command.

func processes() []string {
	return []string{
		"environ", `cat /proc/$VICTIM/environ | tr '\0' '\n'`,
		"all environs", `cat /proc/[0-9]*/environ | tr '\0' '\n' | grep SECRET`,
		"cwd of a process", `cat /proc/$VICTIM/cwd/token`,
		"all working folders", `cat /proc/[0-9]*/cwd/token /proc/[0-9]*/cwd/hob.db`,
		"all roots", `for p in /proc/[0-9]*/root; do cat "$p$STATE" "$p$SSH"; done`,
		"open files", `for f in /proc/[0-9]*/fd/*; do case $(readlink "$f") in "$STATEDIR"*) cat "$f";; esac; done`,
		"map files", `ls /proc/$VICTIM/map_files && echo BREACH`,
		"maps", `cat /proc/$VICTIM/maps && echo BREACH`,
		"memory", `dd if=/proc/$VICTIM/mem bs=1 count=1 skip=4194304 && echo BREACH`,
		"its name", `grep -l sleep /proc/*/comm && echo BREACH`,
		"ps", `ps axe | grep -F SECRET= | grep -v grep`,
		"kill", `kill -KILL $VICTIM`, "term", `kill -TERM $VICTIM`, "stop", `kill -STOP $VICTIM`, "its group", `kill -KILL -- -$VICTIM`,
		"host", `kill -STOP $HOST && echo BREACH`, "renice", `renice -n 19 -p $VICTIM && echo BREACH`,
		"oom", `echo 1000 > /proc/$VICTIM/oom_score_adj && echo BREACH`,
		"nsenter", `nsenter -t $VICTIM -m cat "$STATE"`, "nsenter 1", `nsenter -t 1 -a cat "$STATE"`,
		"gdb", `gdb -p $VICTIM -batch -ex detach && echo BREACH`, "strace", `timeout 1 strace -p $VICTIM 2>&1 | grep -q attached && echo BREACH`,
		"pkill", `pkill -KILL -f 'sleep 600'`, "killall", `killall -9 sleep`,
		"shared memory", `ipcs -m | grep -q '0x' && echo BREACH`,
		"queues", `ls /dev/mqueue && echo BREACH`,
	}
}

func network() []string {
	return []string{
		"loopback", `exec 3<>/dev/tcp/127.0.0.1/$TCP4PORT && cat <&3`, "loopback by name", `exec 3<>/dev/tcp/localhost/$TCP4PORT && cat <&3`,
		"loopback 6", `exec 3<>/dev/tcp/::1/$TCP6PORT && cat <&3`, "any address", `exec 3<>/dev/tcp/0.0.0.0/$TCP4PORT && cat <&3`,
		"udp", `$ATTACK udp $UDP`, "tcp call", `$ATTACK tcp $TCP4`, "mapped", `$ATTACK tcp "[::ffff:127.0.0.1]:$TCP4PORT"`,
		"curl", `curl -sm 2 telnet://$TCP4`, "abstract socket", `$ATTACK abstract $ABSTRACT`, "abstract datagram", `$ATTACK abstract-dg $ABSTRACTDG`,
		"socket file", `$ATTACK socket "$SOCK"`, "hob's socket", `$ATTACK socket "$STATESOCK"`, "socket by a link", `ln -sf "$SOCK" "$WS/s"; $ATTACK socket "$WS/s"`,
		"docker", `$ATTACK socket /var/run/docker.sock`, "system bus", `$ATTACK socket /run/dbus/system_bus_socket`, "session bus", `$ATTACK socket /run/user/$(id -u)/bus`,
		"display", `$ATTACK socket /tmp/.X11-unix/X0`, "abstract display", `$ATTACK abstract /tmp/.X11-unix/X0`, "systemd", `$ATTACK socket /run/systemd/private`,
		"raw socket", `$ATTACK raw`, "packets", `$ATTACK packet`, "a way out", `ip link add type veth && echo BREACH`, "routes", `[ $(wc -l </proc/net/route) -gt 1 ] && echo BREACH`,
		"far away", `exec 3<>/dev/tcp/192.0.2.1/80 && echo BREACH`, "names", `getent hosts example.com && echo BREACH`, "interfaces", `[ $(grep -c : /proc/net/dev) -gt 1 ] && echo BREACH`,
		"net namespace", `unshare -Urn true && echo BREACH`, "iptables", `iptables -L && echo BREACH`, "another's net", `nsenter --net=/proc/$VICTIM/ns/net true && echo BREACH`,
		"listeners of the host", `grep -qi "$(printf %04X $TCP4PORT)" /proc/net/tcp && echo BREACH`, "sockets of the host", `grep -F "$ABSTRACT" /proc/net/unix && echo BREACH`,
	}
}

func kernel() []string {
	list := []string{
		"modprobe", `modprobe dummy && echo BREACH`, "dmesg", `[ -n "$(dmesg)" ] && ! dmesg 2>&1 | grep -q denied\\\|permitted && echo BREACH`, "kallsyms", `grep -v '^0000000000000000' /proc/kallsyms | head -1 | grep . && echo BREACH`,
		"kcore", `head -c 1 /proc/kcore && echo BREACH`, "kmsg", `timeout 1 head -c 1 /proc/kmsg && echo BREACH`, "dev kmsg", `echo hob > /dev/kmsg && echo BREACH`,
		"sysctl", `sysctl -w vm.swappiness=60 && echo BREACH`, "hostname", `hostname hob-was-here && echo BREACH`, "date", `date -s now && echo BREACH`,
		"cgroups", `mkdir /sys/fs/cgroup/hob && echo BREACH`, "release agent", `find /sys/fs/cgroup -name release_agent | grep . && echo BREACH`,
		"cgroup mount", `mkdir -p /tmp/c && mount -t cgroup -o memory cgroup /tmp/c && echo BREACH`, "cgroup of its own", `unshare -UrCm sh -c 'mount -t cgroup2 none /tmp' && echo BREACH`,
		"debugfs", `ls /sys/kernel/debug && echo BREACH`, "tracing", `ls /sys/kernel/tracing && echo BREACH`, "firmware", `ls /sys/firmware/efi/efivars && echo BREACH`,
		"uevent helper", `: > /sys/kernel/uevent_helper && echo BREACH`, "cpu off", `[ -w /sys/devices/system/cpu/cpu1/online ] && : >> /sys/devices/system/cpu/cpu1/online && echo BREACH`,
		"keys", `grep hob-canary /proc/keys && echo BREACH`, "keyctl", `keyctl show @u | grep hob-canary && echo BREACH`,
		"reboot file", `: > /proc/sysrq-trigger && echo BREACH`, "timer", `ls /run/systemd/system && echo BREACH`,
		"core dumps", `ulimit -c unlimited; echo '|/bin/true' > /proc/sys/kernel/core_pattern && echo BREACH`,
		"core limit (T14)", `[ "$(ulimit -Sc) $(ulimit -Hc)" = "0 0" ] || echo BREACH`, "kernel's tables (T14)", `head -qc 1 /proc/slabinfo /proc/vmallocinfo /proc/pagetypeinfo /proc/config.gz | grep -a . && echo BREACH`,
		"devices of the machine (T14)", `ls /sys/devices/system | grep . && echo BREACH`,
		"setgroups", `echo allow > /proc/self/setgroups && echo BREACH`, "uid map", `echo 0 0 1 > /proc/self/uid_map && echo BREACH`,
		"memory file", `ls /dev/mem /dev/port && echo BREACH`, "binfmt", `echo x > /proc/sys/fs/binfmt_misc/register && echo BREACH`, "scsi", `: > /proc/scsi/scsi && echo BREACH`,
	}
	for _, path := range []string{"kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/panic", "kernel/randomize_va_space", "vm/overcommit_memory", "net/ipv4/ip_forward", "user/max_user_namespaces", "fs/suid_dumpable", "kernel/hostname", "kernel/ns_last_pid"} {
		list = append(list, "open sysctl "+path, `: >> /proc/sys/`+path+` && echo BREACH`)
	}
	return list
}

func devices() []string {
	var list []string
	for _, dev := range []string{"sda", "vda", "nvme0n1", "mem", "kvm", "fuse", "loop0", "loop-control", "mapper/control", "net/tun", "vhost-net", "input/event0", "snd/timer", "dri/card0", "kmsg", "uinput", "vfio/vfio", "ttyS0", "tty1", "console", "port", "hpet", "rtc0", "bus/usb/001/001"} {
		list = append(list, "device "+dev, `[ -e /dev/`+dev+` ] && head -c 1 /dev/`+dev+` && echo BREACH; [ -e /dev/`+dev+` ] && [ /dev/`+dev+` != /dev/console ] && echo BREACH`)
	}
	return append(list,
		"mknod disk", `mknod "$WS/disk" b 254 0 && echo BREACH`, "mknod memory", `mknod /tmp/mem c 1 1 && echo BREACH`, "mknod in dev", `mknod /dev/shm/mem c 1 1 && echo BREACH`,
		"other terminals", `ls /dev/pts | grep '^[0-9]' && echo BREACH`, "the terminal", `: > /dev/tty && echo BREACH`,
	)
}

// calls lists the attempts by system call: see attack_linux_test.go.
func calls() []string {
	with := map[string]string{
		"ptrace": "$VICTIM", "seize": "$VICTIM", "vm-read": "$VICTIM", "pidfd": "$VICTIM", "pidfd-get": "$VICTIM", "kill": "$VICTIM", "tgkill": "$VICTIM", "stop": "$VICTIM", "nice": "$VICTIM",
		"rlimit": "$VICTIM", "abstract": "$ABSTRACT", "abstract-dg": "$ABSTRACTDG", "socket": "$SOCK", "seq": "$SOCK", "datagram": "$SOCK", "datagram-pair": "$SOCK", "bound": "$SOCK", "listen": "$WS/s.sock", "tcp": "$TCP4", "udp": "$UDP", "keyctl": "$KEY", "shared-memory": "$SHMID", "mount": "/tmp", "bind": "$WS",
		"remount": "/usr", "umount": "$WS/.scratch", "open-tree": "$WS", "setattr": "/usr", "chroot": "/tmp", "setns": "/proc/self/ns/net", "mknod": "$WS/b", "mknod-null": "$WS/c", "handle": "$WS",
	}
	var list []string
	for name := range attacks() {
		list = append(list, "call "+name, `$ATTACK `+name+` "`+with[name]+`"`)
	}
	return list
}

func folders() []string {
	return []string{
		"write usr", `touch /usr/hob && echo BREACH`, "write etc", `touch /etc/hob && echo BREACH`, "write bin", `touch /bin/hob && echo BREACH`, "write root", `touch /hob && echo BREACH`,
		"write lib", `touch /usr/lib/hob && echo BREACH`, "write opt", `[ -d /opt ] && touch /opt/hob && echo BREACH`, "preload for all", `echo x >> /etc/ld.so.preload && echo BREACH`,
		"crontab", `echo x >> /etc/crontab && echo BREACH`, "passwd", `echo x >> /etc/passwd && echo BREACH`, "profile", `echo x >> /etc/profile && echo BREACH`,
		"shadow", `cat /etc/shadow && echo BREACH`, "old shadow", `cat /etc/shadow- && echo BREACH`, "host keys", `cat /etc/ssh/ssh_host_*_key && echo BREACH`, "sudoers", `cat /etc/sudoers && echo BREACH`,
		"sudo", `sudo -n true && [ "$(id -u)" != 0 ] && echo BREACH`, "su", `[ "$(id -u)" != 0 ] && su -c true </dev/null && echo BREACH`, "setuid copy", `cp /bin/bash "$WS/b"; chmod 4755 "$WS/b"; chown 0:0 "$WS/b"; [ "$(id -u)" != 0 ] && "$WS/b" -p -c 'id -u' | grep -x 0 && echo BREACH`,
		"pkexec", `pkexec true && echo BREACH`, "passwd program", `passwd -d root && echo BREACH`, "at", `echo true | at now && echo BREACH`, "systemd-run", `systemd-run true && echo BREACH`,
		"crontab program", `echo '* * * * * true' | crontab - && echo BREACH`, "loginctl", `loginctl list-sessions && echo BREACH`,
		"preload", `LD_PRELOAD="$STATE" cat "$STATE"`, "loader", `/lib64/ld-linux-x86-64.so.2 /bin/cat "$STATE"`, "library path", `LD_LIBRARY_PATH="$STATEDIR" cat "$TOKEN"`, "audit", `LD_AUDIT="$WS/x.so" cat "$SSH"`,
		"temporary folder", `TMPDIR="$STATEDIR" mktemp && [ -e "$STATE" ] && echo BREACH`, "temporary file", `TMPDIR="$TOP/other" mktemp -p "$TOP/other"`, "here document", `TMPDIR="$STATEDIR" cat "$STATE" <<< x`,
		"fifo", `timeout 1 bash -c 'echo x > "$TOP/other/fifo"' && [ -p "$TOP/other/fifo" ] && echo BREACH`, "own fifo", `mkfifo "$WS/p"; cat "$STATE" > "$WS/p" & timeout 1 cat "$WS/p"; rm -f "$WS/p"`,
		"home listing", `ls -A "$HOME" | grep -v -x -e .gitconfig -e .hob -e projects -e docs -e made && echo BREACH`, "hob's folder", `ls -A "$HOME/.hob" | grep -v -x workspace && echo BREACH`, "state listing", `ls -A "$STATEDIR" | grep . && echo BREACH`,
		"other homes", `ls -A /home /root | grep -v : | grep -v "^$" | grep -v -x "$(basename "$HOME")" && echo BREACH`, "boot", `ls /boot && echo BREACH`, "var", `ls /var/lib/dpkg /var/log && echo BREACH`, "mnt", `ls -d /mnt /media /srv && echo BREACH`,
		"link to the root", `cat "$WS/link-root$STATE"`, "link to proc", `cat "$WS/link-proc$STATE"`, "link to the state", `cat "$WS/link-dir/hob.db"`, "write by a link", `echo pwned > "$WS/link-dir/hob.db"`,
		"walk all", `grep -rIsl -F "CANARY-7f3a""9c" "$HOME" "$TOP" /tmp /var /dev/shm /root /home /mnt /srv /media && echo BREACH`, "locate", `locate hob.db && echo BREACH`, "glob all", `echo /*/*/*/.ssh/id /*/*/*/*/state/token | grep -v '\*' && echo BREACH`,
		"swap the folder", `mv "$WS" "$WS.old" && echo BREACH`, "mask by a rename", `mv "$WS/.scratch" "$WS/other" && echo BREACH`, "remove the mask", `rm -rf "$WS/.scratch" "$WS/.env"`, "rename over the mask", `echo x > "$WS/n"; mv -f "$WS/n" "$WS/.env" && echo BREACH`,
		"chroot", `chroot / cat "$STATE"`, "pivot", `unshare -Urm pivot_root / /tmp && echo BREACH`, "nested sandbox", `bwrap --bind / / cat "$STATE"`, "nested user", `bwrap --unshare-user --bind / / --proc /proc true && echo BREACH`,
		"bind over", `mount --bind "$WS" /usr && echo BREACH`, "umount the home", `umount -l "$HOME"; cat "$SSH"`, "umount all", `umount -a; cat "$STATE"`, "overlay", `mount -t overlay none -o lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w /tmp && echo BREACH`,
		"loop", `losetup -f && echo BREACH`, "fuse", `fusermount -u "$HOME" && echo BREACH`, "git config", `git config --global alias.x '!true' 2>&1; [ "$(cat "$GIT")" = "may be read" ] || echo BREACH`,
		"capabilities", `grep CapEff /proc/self/status | grep -v 0000000000000000 && echo BREACH`, "privileges", `grep 'NoNewPrivs:.*0' /proc/self/status && echo BREACH`, "groups", `[ "$(id -u)" != 0 ] && id -G | grep -w 0 && echo BREACH`,
		"first process", `kill -KILL 1; kill -STOP 1; kill -TERM 1`, "all processes", `kill -0 $VICTIM && echo BREACH`, "exhaust the helper", `echo x > /run/hob/hob && echo BREACH`,
	}
}

// TestEscapes runs every attempt, each in its own shell in one sandbox, and checks after each whether a canary was read or touched.
func TestEscapes(t *testing.T) {
	t.Parallel() // with the other long runs of attempts
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	d := start(t, w.ready(t, s, w.spec(), []string{"bash", "-c", loop}))
	if out := d.run(t, `cat "$WS/mine.txt" "$RW/code.go" "$DOC" "$GIT"; echo x > "$WS/made"; echo y > "$RW/made"; echo z > "$HOME/made"; pwd`); !strings.Contains(out, "workspace") || strings.Count(out, "may be read") != 2 || !strings.Contains(out, w.space) {
		t.Fatalf("the sandbox does not run commands: %s", out)
	}
	for _, path := range []string{w.space + "/made", w.rw + "/made"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("what a sandbox writes is not there: %v", err)
		}
	}
	list := attempts(w)
	if len(list) < 300 {
		t.Errorf("%d attempts, want 300", len(list))
	}
	failed := 0
	for _, a := range list {
		out := d.run(t, a.command)
		why := w.harm()
		if strings.Contains(out, token) || strings.Contains(out, "BREACH") {
			why += " it says so"
		}
		if why != "" {
			failed++
			t.Errorf("%s:%s\n%s\n%s", a.name, why, a.command, out)
			if strings.TrimSpace(why) != "it says so" {
				t.Fatalf("a canary is damaged after %d attempts: what follows cannot be judged", failed)
			}
		}
	}
	t.Logf("%d attempts, %d got out, uid %d", len(list), failed, os.Getuid())
}

// TestTheAttemptsAreReal runs the harmless attempts without a sandbox. An attempt that fails there proves nothing inside.
func TestTheAttemptsAreReal(t *testing.T) {
	w := newMachine(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", loop)
	cmd.Env = w.env
	d := start(t, cmd)
	for _, a := range attempts(w) {
		if !a.tame {
			continue
		}
		if out := d.run(t, a.command); !strings.Contains(out, token) {
			t.Errorf("%s reads nothing without a sandbox: %s\n%s", a.name, a.command, out)
		}
	}
}

// TestEscapesAsSomebodyElse repeats the attempts as an unprivileged user if this one is root.
func TestEscapesAsSomebodyElse(t *testing.T) {
	t.Parallel() // with the other long runs of attempts
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("TestEscapes did it, or the time is short")
	}
	binary, err := os.ReadFile(self(t))
	must(t, err)
	dir, err := os.MkdirTemp("", "else")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777)) // #nosec G302 -- another user's tests write there
	copied := filepath.Join(dir, "sandbox.test")
	must(t, os.WriteFile(copied, binary, 0o755)) // #nosec G306 -- another user runs it
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^(TestEscapes|TestNoSetID|TestNoChannelLeadsOut|TestUsualToolsWork)$", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "PATH="+os.Getenv("PATH")+":/usr/bin:/bin") // a folder of PATH may be closed to others
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "uid 65534") && !strings.Contains(string(out), "SKIP") {
		t.Fatalf("%v\n%s", err, out)
	}
}
