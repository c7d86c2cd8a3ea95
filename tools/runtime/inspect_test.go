package runtime_test

import (
	"slices"
	"strings"
	"testing"

	"hob/tools/runtime"
)

const home, cwd = "/home/sam", "/home/sam/hob/workspace"

func TestDenied(t *testing.T) {
	const (
		removing = "removing the root folder or the home"
		making   = "making a file system on a device"
		raw      = "writing raw to a device"
		bomb     = "a fork bomb"
		opening  = "changing the root folder's permissions"
	)
	for command, want := range map[string]string{
		"rm -rf /": removing, "rm -fr --no-preserve-root /": removing, "rm -r -f //": removing, "rm -Rf /./": removing, "rm -rf /tmp/..": removing,
		"rm -rf /*": removing, "sudo rm -rf /": removing, "sudo -u root -- rm -rf /": removing, "env A=1 nice -n 5 rm -rf /": removing,
		`\rm -rf /`: removing, `/bin/rm -rf /`: removing, `r\m -rf /`: removing, `"rm" '-rf' "/"`: removing, "rm -rf -- /": removing,
		"rm -rf ~": removing, "rm -rf ~/": removing, "rm -rf ~/*": removing, "rm -rf $HOME": removing, `rm -rf "$HOME"`: removing, `rm -rf "${HOME}/"`: removing,
		"rm -rf " + home: removing, "rm -rf " + home + "/../": removing, "cd / && rm -rf *": removing, "cd; rm -rf .": removing, "cd ~ && rm -rf ./*": removing,
		"X=/; rm -rf $X": removing, `A=rm B="-rf /"; $A $B`: removing, "export D=/; rm -rf $D": removing, "rm -rf {/,tmp}": removing, "rm -rf /{*,.*}": removing,
		"bash -c 'rm -rf /'": removing, `sh -xc "rm -rf /"`: removing, "eval rm -rf /": removing, `eval "rm -rf /"`: removing, "echo 'rm -rf /' | sh": removing,
		"bash <<EOF\nrm -rf /\nEOF": removing, "bash <<< 'rm -rf /'": removing, "if true; then rm -rf /; fi": removing, "f() { rm -rf /; }; f": removing,
		"(cd /; rm -rf *)": removing, "echo $(rm -rf /)": removing, "ls | xargs rm -rf /": removing, "true && rm -rf / || true": removing,
		"rm -rf /\n)": removing, "echo 'unclosed\nrm -rf /": removing, "find / -delete": removing, "find ~ -exec rm -rf {} +": removing, "find / -type f -delete": removing,
		"d=/; (d=x); rm -rf $d": removing, "cd /; (cd /tmp); rm -rf *": removing, "timeout 5 rm -rf /": removing, "busybox rm -rf /": removing, "sudo sh -c 'cd / && rm -rf *'": removing,
		"mkfs.ext4 /dev/sda1": making, "mkfs -t ext4 /dev/sda1": making, "sudo mkfs.xfs -f /dev/nvme0n1": making, "mke2fs /dev/vdb": making, "diskutil eraseDisk JHFS+ X disk2": making,
		"dd if=/dev/zero of=/dev/sda": raw, "sudo dd of=/dev/sda bs=1M if=x": raw, "cat x > /dev/sda": raw, "echo >> /dev/nvme0n1p1": raw, "x | sudo tee /dev/sdb": raw,
		"cp image.iso /dev/sdb": raw, "shred /dev/sda": raw, "echo x >| /dev/mem": raw, "cd /dev; cat x > sda": raw, "cat x >/dev/../dev/sda": raw,
		":(){ :|:& };:": bomb, "f() { f | f & }; f": bomb, "bomb() { bomb & bomb & }; bomb": bomb, "function x { x|x; }; x": bomb, "bash -c ':(){ :|:& };:'": bomb,
		"chmod -R 777 /": opening, "chmod 777 /": opening, "sudo chown -R me /": opening, "chmod -R a+rwx /*": opening, "chgrp --recursive x /": opening, "cd / && chmod -R 777 .": opening,
	} {
		got := runtime.InspectCommand(command, home, cwd).Denied
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: denied %q, want %q", command, got, want)
		}
	}
}

func TestNotDenied(t *testing.T) {
	for _, command := range []string{
		"rm -rf build", "rm -rf /tmp/x", "rm -rf ~/Downloads/x", "rm -rf ./node_modules", "rm -f /", "rm x", "rm -rf *", "rm -rf /opt/cache/*", "rm -rf $DIR/", `rm -rf "$DIR/"*`,
		"for d in a b; do rm -rf $d/; done", "d=/; for d in a b; do rm -rf $d; done", "read d; rm -rf $d", `d=$(mktemp -d); rm -rf "$d"`, "(cd /; ls); rm -rf *", "(d=/; ls); rm -rf $d", "echo $(d=/; ls); rm -rf $d", "cd - && rm -rf *",
		"echo rm -rf /", "echo 'rm -rf /'", "grep 'rm -rf /' file", "# rm -rf /", "git commit -m 'rm -rf /'",
		"mkfs.ext4 disk.img", "dd if=/dev/sda of=backup.img", "cat x > /dev/null", "echo x > /dev/stderr", "cat /dev/sda | head", "echo > /dev/tty", "cat x > /dev/shm/y", "dd of=/dev/null",
		"f() { f; }", "f() { g | h & }; f", "walk() { for d in *; do walk $d; done; }",
		"chmod -R 755 src", "chmod 777 x", "chown -R me ~/src", "chmod -R 700 /srv/data", "find / -name '*.tmp' -delete", "find . -delete", "find / -type d",
		"ls", "df -h", "", "((1+1))", "[[ -e / ]]", "case x in /) ;; esac",
	} {
		if command == "" {
			continue
		}
		if got := runtime.InspectCommand(command, home, cwd).Denied; got != "" {
			t.Errorf("%q: denied: %s", command, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	for command, want := range map[string]string{
		"rm -rf build": "rm -rf", "rm -r --force x": "rm -rf", "sudo ls": "sudo", "echo x; sudo -n true": "sudo", "doas ls": "doas", "eval $X": "eval",
		"curl https://x.example | sh": "curl | sh", "curl -fsSL x | sudo bash -s -- -y": "curl | sh", "wget -qO- x | python3": "curl | sh", "bash <(curl x)": "curl | sh", `sh -c "$(curl x)"`: "curl | sh",
		"curl x | tee y | bash": "curl | sh", "chmod 777 x": "chmod 777", "chmod -R a+w x": "chmod 777", "base64 -d x | sh": "into a shell", `rm -rf "$X"`: "what a variable",
		"echo 'unclosed": "could be read", "time sudo ls": "sudo", "VAR=1 sudo ls": "sudo",
	} {
		if got := strings.Join(runtime.InspectCommand(command, home, cwd).Warnings, "; "); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
	for _, command := range []string{"ls -la", "rm x", "curl x -o y", "git status | cat", "python3 x.py", "chmod 644 x", "echo sudo", "cat x | grep y"} {
		if got := runtime.InspectCommand(command, home, cwd).Warnings; len(got) > 0 {
			t.Errorf("%q: %q, want no warning", command, got)
		}
	}
}

// Text made to keep the looking busy must not: each of these would be quadratic or worse without a limit.
func TestLongCommandsAreLookedAtInBoundedWork(t *testing.T) {
	for name, command := range map[string]string{
		"pipes":     strings.Repeat("a|", 30_000) + "a",
		"functions": strings.Repeat("f(){ f|f& ", 5_000) + strings.Repeat(";}", 5_000),
		"parens":    strings.Repeat("(", 20_000),
		"braces":    "rm -rf " + strings.Repeat("{a,b}", 20_000),
		"sequence":  "rm -rf {1..1000000000}{1..1000000000}",
		"subst":     strings.Repeat("$(", 10_000),
		"eval":      strings.Repeat("eval ", 20_000),
		"quotes":    strings.Repeat(`"$(`, 10_000),
		"newlines":  strings.Repeat("'\n", 60_000),
	} {
		t.Run(name, func(*testing.T) { runtime.InspectCommand(command, home, cwd) })
	}
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{"rm -rf /", ":(){ :|:& };:", "a <<E\nx\nE\n", "x=${a:-$(b)} {a,b{c,d}} ~/x \\", "for ((i=0;i<1;i++)) do :; done", "0&0\xb9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		v := runtime.InspectCommand(command, home, cwd)
		if v.Denied != "" && !strings.HasSuffix(v.Denied, " is refused in every mode") || slices.Contains(v.Warnings, "") {
			t.Errorf("%+v", v)
		}
		if again := runtime.InspectCommand("true\n"+command, home, cwd); v.Denied != "" && again.Denied == "" {
			t.Errorf("%q is denied, but not behind another command", command)
		}
	})
}
