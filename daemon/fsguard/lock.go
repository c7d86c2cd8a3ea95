package fsguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WorkspaceFiles lists the files of the workspace that the system text contains, in its order.
func WorkspaceFiles() []string {
	return []string{"AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "CAPABILITIES.md"}
}

// FrontMatter is what the head of a workspace file says about the file: lines "key: value" between two lines "---". Unknown keys are ignored.
type FrontMatter struct {
	Contextual bool   // loading: contextual. The prompt names the file, and the model reads it when it needs it
	Locked     bool   // agent-modification: false. Tools ask before they change the file
	Fault      string // what is wrong with it, "" for nothing
}

// maxFrontMatter is the longest front matter, in bytes.
const maxFrontMatter = 4 << 10

// Front separates the front matter of a file from its text. A head that is never closed counts as text, but a lock in it holds: a mistake in
// the owner's file must not open the file.
func Front(text []byte) (f FrontMatter, rest []byte) {
	whole := text
	text = []byte(strings.TrimPrefix(string(text[:min(len(text), maxFrontMatter)]), "\uFEFF"))
	skipped := min(len(whole), maxFrontMatter) - len(text)
	line, after, found := strings.Cut(string(text), "\n")
	if !found || strings.TrimRight(line, " \t\r") != "---" {
		return f, whole
	}
	for n := 2; found; n++ {
		line, after, found = strings.Cut(after, "\n")
		line = strings.TrimRight(line, " \t\r")
		if line == "---" || line == "..." {
			return f, whole[skipped+len(text)-len(after):]
		}
		f.line(n, line)
	}
	f.Contextual, f.Fault = false, `its front matter has no closing line "---"`
	return f, whole
}

// line takes over one line of the front matter. Nested values and comments are ignored.
func (f *FrontMatter) line(n int, line string) {
	if line == "" || strings.ContainsAny(line[:1], " \t#-") {
		return
	}
	key, value, found := strings.Cut(line, ":")
	if !found {
		f.Fault = fmt.Sprintf("line %d of its front matter is not \"key: value\"", n)
		return
	}
	value, _, _ = strings.Cut(value, " #")
	value = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
	switch fold(strings.TrimSpace(key)) {
	case "loading":
		f.Contextual = value == "contextual"
		if !f.Contextual && value != "always" {
			f.Fault = fmt.Sprintf("loading: %q is unknown (contextual or always)", value)
		}
	case "agent-modification":
		open := slices.Contains([]string{"true", "yes", "on"}, value)
		f.Locked = f.Locked || !open
		if !open && !slices.Contains([]string{"false", "no", "off"}, value) {
			f.Fault = fmt.Sprintf("agent-modification: %q is unknown (true or false), and counts as false", value)
		}
	}
}

// Lock is a workspace file that the owner has locked by agent-modification: false.
type Lock struct {
	Name string      // its name in the workspace
	Path string      // where it is, symbolic links resolved
	Info os.FileInfo // of the file at Path

	// Loose is true if a command in a sandbox could change what the name leads to although Path is mounted read-only: the name is a symbolic
	// link, or the file has further names.
	Loose bool
}

// Locks lists the locked workspace files. It reads the head of each workspace file.
func Locks(g *Guard) []Lock {
	var list []Lock
	for _, name := range WorkspaceFiles() {
		own := filepath.Join(g.space, name)
		// Most of the files do not exist, and each command asks for the locks several times.
		if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		p, err := g.Resolve("", own)
		if err != nil || p.Info == nil || !p.Info.Mode().IsRegular() || p.Area == State {
			continue
		}
		head, err := headOf(g, p, maxFrontMatter)
		if err != nil {
			continue // what hob cannot read is in no prompt
		}
		if f, _ := Front(head); f.Locked {
			list = append(list, Lock{Name: name, Path: p.Path, Info: p.Info, Loose: p.Path != own || links(p.Info) > 1})
		}
	}
	return list
}

// Head reads the beginning of a file, at most so many bytes. It does not ask whose text it is, so a judgement about that may call it.
func Head(g *Guard, path string, most int64) ([]byte, error) {
	p, err := unjudged(g, os.Lstat, "", path)
	if err != nil {
		return nil, err
	}
	return headOf(g, p, most)
}

// headOf reads at most so many bytes of a file.
func headOf(g *Guard, p Place, most int64) ([]byte, error) {
	f, err := g.Open(p)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return text, errors.Join(err, f.Close())
}

// Locked reports whether a resolved path is a locked workspace file, under this or another name.
func Locked(g *Guard, path string) bool {
	info, err := os.Lstat(path)
	return slices.ContainsFunc(Locks(g), func(l Lock) bool { return l.Path == path || err == nil && os.SameFile(info, l.Info) })
}
