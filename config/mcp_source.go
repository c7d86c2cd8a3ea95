package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// Kinds of MCPSource.
const (
	FromNPM = "npm"
	FromGo  = "go"
)

// MCPSource is a package of npm or a Go module that is an MCP server.
type MCPSource struct {
	Kind    string // FromNPM or FromGo
	Name    string // of the package, or the path of the module's program
	Version string // an exact one, or a name such as latest
}

// Forms of names and versions. npm and go would interpret other forms, such as addresses and folders, in another way.
var (
	npmName       = sys.Regexp(`^(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*$`)
	goName        = sys.Regexp(`^[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)
	sourceVersion = sys.Regexp(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$`)
)

// ParseMCPSource reads npm:PACKAGE[@VERSION] or go:MODULE[@VERSION]. Without a version it is the latest one.
func ParseMCPSource(text string) (s MCPSource, err error) {
	kind, rest, _ := strings.Cut(text, ":")
	s = MCPSource{Kind: kind, Name: rest, Version: "latest"}
	if at := strings.LastIndex(rest, "@"); at > 0 {
		s.Name, s.Version = rest[:at], rest[at+1:]
	}
	switch {
	case kind != FromNPM && kind != FromGo:
		return s, errors.New("want npm:PACKAGE[@VERSION] or go:MODULE[@VERSION]")
	case len(s.Name) > 214 || kind == FromNPM && !npmName().MatchString(s.Name) || kind == FromGo && !goName().MatchString(s.Name):
		return s, errors.New("want the name of a package or a module after " + kind + ":")
	case !sourceVersion().MatchString(s.Version):
		return s, errors.New("want a version such as 1.2.3 after @")
	}
	return s, nil
}

// At is the source at a version, as npm and go take it.
func (s MCPSource) At(version string) string { return s.Name + "@" + version }

func (s MCPSource) String() string { return s.Kind + ":" + s.At(s.Version) }

// Version is the version of an installed server; "": it is not installed.
func (m MCPServer) Version() string {
	s, err := ParseMCPSource(m.Install)
	if err != nil {
		return ""
	}
	return s.Version
}

// Fetched returns the source that a command would fetch at each start, as in "npx -y PACKAGE" and "go run MODULE@VERSION", and the
// remaining arguments for the program. ok is false for any other command.
func (m MCPServer) Fetched() (s MCPSource, args []string, ok bool) {
	args = m.Args
	kind := ""
	switch filepath.Base(m.Command) {
	case "npx":
		for kind = FromNPM; len(args) > 0 && slices.Contains([]string{"-y", "--yes", "-q", "--quiet"}, args[0]); {
			args = args[1:]
		}
	case "go":
		if kind = FromGo; len(args) < 2 || args[0] != "run" || !strings.Contains(args[1], "@") {
			return s, nil, false
		}
		args = args[1:]
	}
	if kind == "" || len(args) == 0 {
		return s, nil, false
	}
	s, err := ParseMCPSource(kind + ":" + args[0])
	return s, args[1:], err == nil
}
