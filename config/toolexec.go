package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/sys"
)

// Exec is [tools.exec]: the sandbox and the limits of shell commands, and the machines that can run them. When the section is off,
// Tools.Deny contains "exec" and "tmux": a command must not run with less protection, or on another machine, than the owner intended.
type Exec struct {
	Sandbox   string              `toml:"sandbox"`   // "require", "auto" (default) or "off"
	Memory    Bytes               `toml:"memory"`    // limit of a sandboxed command with all its processes; 0: half of the machine's memory
	Network   bool                `toml:"network"`   // commands may use the network
	Sockets   bool                `toml:"sockets"`   // commands may use the unix sockets of other programs in the folders that they see
	Binds     []string            `toml:"binds"`     // "PATH:ro" or "PATH:rw", visible to commands besides the workspace and the roots
	Path      string              `toml:"path"`      // PATH of hob and its commands; "": that of the process
	Timeout   time.Duration       `toml:"timeout"`   // default for a command; default 30 min
	Yield     time.Duration       `toml:"yield"`     // wait before a command continues in the background; default 2 min
	Life      time.Duration       `toml:"life"`      // default for a background process; default 1 h
	Processes int                 `toml:"processes"` // limit of background processes; default 10
	Hosts     map[string]ExecHost `toml:"hosts"`     // other machines, by the name that calls use
}

// Bytes is an amount of memory, at least 64 MB: "512MB", "4GB".
type Bytes int64

// UnmarshalText parses a number with its unit.
// Units are powers of 1024. The limit of n keeps the result within int64.
func (b *Bytes) UnmarshalText(text []byte) error {
	word := strings.ToUpper(strings.ReplaceAll(string(text), " ", ""))
	for i, unit := range []string{"KB", "MB", "GB", "TB"} {
		if n, err := strconv.ParseFloat(strings.TrimSuffix(word, unit), 64); strings.HasSuffix(word, unit) && err == nil && n < 1<<20 {
			if *b = Bytes(n * float64(int64(1)<<(10*(i+1)))); *b < 64<<20 {
				return fmt.Errorf("want at least 64MB, found %q", text)
			}
			return nil
		}
	}
	return fmt.Errorf(`want a number with its unit, like "512MB" or "4GB", found %q`, text)
}

// MarshalText writes it in a form that UnmarshalText accepts.
// A part of a kilobyte is lost.
func (b Bytes) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%dKB", b>>10), nil }

// ExecHost is one of [tools.exec.hosts]: a machine that runs commands over SSH.
type ExecHost struct {
	Address  string   `toml:"address"`  // an argument for ssh: "sam@nas", or a name of the owner's ssh config
	Commands []string `toml:"commands"` // commands that start with one of these words run there by default; no two hosts share one
}

func defaultExec() Exec {
	return Exec{Sandbox: "auto", Timeout: 30 * time.Minute, Yield: 2 * time.Minute, Life: time.Hour, Processes: 10}
}

var (
	hostName    = sys.Regexp(`^[A-Za-z0-9._-]+$`)
	hostAddress = sys.Regexp(`^[^-\s]\S*$`) // a leading - would be an option of ssh
)

// checkExec drops wrong binds. A mistake in a host switches the section off.
func checkExec(c *checks, e *Exec) {
	e.Binds = checkPaths(c, "binds", e.Binds, "ro", "rw")
	for _, dir := range filepath.SplitList(e.Path) {
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") {
			at := c.at("path")
			c.add(at, at.value, "tools.exec.path", fmt.Sprintf("path: want absolute folders, or folders that begin with ~/, found %q", dir), `for example "~/.local/bin:/usr/local/bin:/usr/bin:/bin"`, true)
			break
		}
	}
	owner := map[string]string{} // of the first words of commands
	for _, name := range sorted(keysOf(e.Hosts)) {
		at := c.at("hosts").child(name)
		wrong := func(format string, args ...any) {
			c.add(at, at.value, "tools.exec.hosts."+name, "hosts."+name+": "+fmt.Sprintf(format, args...), `for example { address = "sam@nas", commands = ["docker compose"] }`, true)
		}
		h := e.Hosts[name]
		switch {
		case !hostName().MatchString(name):
			wrong("a name of a host has letters, digits, dots, - and _ only")
		case !hostAddress().MatchString(h.Address):
			wrong("address: want what ssh takes, like \"sam@nas\", found %q", h.Address)
		}
		for _, command := range h.Commands {
			words := strings.Join(strings.Fields(command), " ")
			// With two hosts for the same words, the choice of the machine would be a guess.
			switch other, taken := owner[words]; {
			case words == "":
				wrong("commands: one of them is empty")
			case taken:
				wrong("commands: %q belongs to hosts.%s already", words, other)
			}
			owner[words] = name
		}
	}
}

// execNotes describes the keys of [tools.exec].
func execNotes() []schema.Note {
	return []schema.Note{
		{
			Name: "sandbox", Words: []string{"require", "auto", "off"}, Example: `"auto"`,
			Doc: "`require` runs no command where there is no sandbox; `auto` asks you about each command there; `off` uses no sandbox.",
		},
		{
			Name: "memory", Unset: "half of the machine's", Example: `"4GB"`, Pattern: `^[0-9.]+ ?[KMGT]B$`,
			Doc: "The memory limit of a sandboxed command with all its processes; each of its temporary folders may hold a quarter of it. A command that exceeds the limit is killed.",
		},
		{Name: "network", Example: "false", Doc: "Let commands use the network, including the servers on this machine."},
		{Name: "sockets", Example: "false", Doc: "Let commands use the unix sockets of your programs in the folders that they see. Without it they have only their own."},
		{Name: "binds", Example: `["~/.gitconfig:ro"]`, Pattern: `:(ro|rw)$`, Doc: "Files and folders besides the workspace and the roots that commands may read (`:ro`) or also write (`:rw`)."},
		{
			Name: "path", Unset: "the PATH of hob, which a service got from your shell at `hob service install`", Example: `"~/.local/bin:/usr/local/bin:/usr/bin:/bin"`,
			Doc: "The folders in which commands, gates, tool hooks and MCP servers look for programs. Takes effect when hob starts.",
		},
		{Name: "timeout", Least: "10s", Most: "24h", Example: `"30m"`, Doc: "The time limit of a command, unless its call sets one."},
		{Name: "yield", Least: "1s", Most: "24h", Example: `"2m"`, Doc: "How long hob waits for a command before it continues in the background."},
		{Name: "life", Least: "10s", Most: "720h", Example: `"1h"`, Doc: "The time limit of a background process, unless its call sets one."},
		{Name: "processes", Least: "1", Most: "100", Example: "10", Doc: "The highest number of background processes."},
		{
			Name: "hosts", Unset: "none", Example: `{ nas = { address = "sam@nas", commands = ["docker compose"] } }`,
			Doc: "Other machines that can run commands, over your own `ssh`, and the first words of commands that run there by default; also written `[tools.exec.hosts.nas]`.",
		},
	}
}
