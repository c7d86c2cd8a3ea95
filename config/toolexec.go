package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
)

// Exec is [tools.exec]: how shell commands are confined, how long they may take, and the machines that they can run on. When the section
// is off, Tools.Deny has "exec" and "tmux": a command must not run less confined, or on another machine, than was meant.
type Exec struct {
	Sandbox   string              `toml:"sandbox"`   // "require", "auto" (default) or "off"
	Memory    Bytes               `toml:"memory"`    // that a command in the sandbox may take, with all that it starts; 0: half of the machine's
	Network   bool                `toml:"network"`   // commands reach the machine's network
	Binds     []string            `toml:"binds"`     // "PATH:ro" or "PATH:rw", what commands see beside the workspace and the roots
	Timeout   time.Duration       `toml:"timeout"`   // of a command whose call names none; default 30 min
	Yield     time.Duration       `toml:"yield"`     // how long one is waited for before it goes on in the background; default 2 min
	Life      time.Duration       `toml:"life"`      // of a background process whose call names no timeout; default 1 h
	Processes int                 `toml:"processes"` // in the background at once; default 10
	Hosts     map[string]ExecHost `toml:"hosts"`     // other machines, by the name that calls give
}

// Bytes is an amount of memory, 64 MB or more: "512MB", "4GB".
type Bytes int64

// UnmarshalText reads a number with its unit.
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

// MarshalText writes it so that it can be read.
func (b Bytes) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%dKB", b>>10), nil }

// ExecHost is one of [tools.exec.hosts]: a machine that commands run on over SSH.
type ExecHost struct {
	Address  string   `toml:"address"`  // as ssh takes it: "sam@nas", or a name of the owner's ssh config
	Commands []string `toml:"commands"` // a command that starts with one of these words runs there by itself; no two hosts share one
}

func defaultExec() Exec {
	return Exec{Sandbox: "auto", Timeout: 30 * time.Minute, Yield: 2 * time.Minute, Life: time.Hour, Processes: 10}
}

var (
	hostName    = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	hostAddress = regexp.MustCompile(`^[^-\s]\S*$`) // what begins with - would be an option of ssh's
)

// checkExec drops binds that are none; a mistake in a host switches the section off.
func checkExec(c *checks, e *Exec) {
	e.Binds = checkPaths(c, "binds", e.Binds, "ro", "rw")
	owner := map[string]string{} // of the first words of commands
	for _, name := range sorted(keysOf(e.Hosts)) {
		at := c.at("hosts").child(name)
		wrong := func(format string, args ...any) {
			c.add(at, at.value, "tools.exec.hosts."+name, "hosts."+name+": "+fmt.Sprintf(format, args...), `for example { address = "sam@nas", commands = ["docker compose"] }`, true)
		}
		h := e.Hosts[name]
		switch {
		case !hostName.MatchString(name):
			wrong("a name of a host has letters, digits, dots, - and _ only")
		case !hostAddress.MatchString(h.Address):
			wrong("address: want what ssh takes, like \"sam@nas\", found %q", h.Address)
		}
		for _, command := range h.Commands {
			words := strings.Join(strings.Fields(command), " ")
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

func execNotes() []schema.Note {
	return []schema.Note{
		{
			Name: "sandbox", Words: []string{"require", "auto", "off"}, Example: `"auto"`,
			Doc: "`require` runs no command where it cannot be confined; `auto` asks you for each there; `off` confines none.",
		},
		{
			Name: "memory", Unset: "half of the machine's", Example: `"4GB"`, Pattern: `^[0-9.]+ ?[KMGT]B$`,
			Doc: "What a command in the sandbox may take with all that it starts, and four times what each of its temporary folders holds; one that takes more is ended.",
		},
		{Name: "network", Example: "false", Doc: "Let commands reach the network, and what listens on this machine."},
		{Name: "binds", Example: `["~/.gitconfig:ro"]`, Pattern: `:(ro|rw)$`, Doc: "Files and folders that commands see (`:ro`) or may write too (`:rw`), beside the workspace and the roots."},
		{Name: "timeout", Least: "10s", Most: "24h", Example: `"30m"`, Doc: "How long a command may take whose call says nothing of it."},
		{Name: "yield", Least: "1s", Most: "24h", Example: `"2m"`, Doc: "How long hob waits for a command; then it goes on in the background."},
		{Name: "life", Least: "10s", Most: "720h", Example: `"1h"`, Doc: "How long a process in the background may run whose call says nothing of it."},
		{Name: "processes", Least: "1", Most: "100", Example: "10", Doc: "Processes in the background at once."},
		{
			Name: "hosts", Unset: "none", Example: `{ nas = { address = "sam@nas", commands = ["docker compose"] } }`,
			Doc: "Other machines that commands can run on, over your own `ssh`, and the beginnings of those that go there by themselves; also written `[tools.exec.hosts.nas]`.",
		},
	}
}
