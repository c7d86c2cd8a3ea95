package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools/runtime/inspect"
)

// Limits of the files that an approval of a command is bound to.
const (
	maxNamed     = 16       // listed one by one; the others are in the manifest
	maxBound     = 2_000    // in all
	maxNamedSize = 1 << 20  // bytes of a file that are read
	maxReadSize  = 16 << 20 // bytes of all files that are read
	maxLooked    = 20_000   // names in folders that are compared with patterns
	maxAbove     = 12       // folders above that of a command, where a program may look for its default files
)

// named is a file that a word of a command names. Of one that is too large to be read only its version is told.
type named struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`
	Version string `json:"version,omitempty"`
}

// manifest stands for the files that are not listed one by one.
type manifest struct {
	Count  int    `json:"count"`
	SHA256 string `json:"sha256"`
}

// binding is what an approval of a command is bound to beside the command itself, and in words what it is not bound to.
type binding struct {
	files   []named
	rest    *manifest
	unbound []string
}

// bind finds the files that a command names, reads as its defaults, or starts as programs: an approval of "sh x.sh" is one of what x.sh holds.
func bind(e executor, at *site, in Command) binding {
	if at.host != "" {
		return binding{unbound: []string{"what the files and programs on " + at.host + " hold"}}
	}
	names := inspect.Files(in.Command, e.Guard.Home(), at.cwd, newEnviron(e.Environ, environSetting{Home: e.Guard.Home(), Cwd: at.cwd}, in.Env), in.Env)
	b := &binder{guard: e.Guard, seen: map[string]bool{}, left: maxReadSize}
	for _, path := range names.Files {
		b.add(path)
	}
	for _, pattern := range names.Patterns {
		b.pattern(pattern)
	}
	folders := append(b.folders, at.cwd)
	for _, program := range names.Programs {
		for _, dir := range folders {
			b.defaults(program, dir)
		}
	}
	return b.result(names)
}

// binder collects files.
type binder struct {
	guard   *fsguard.Guard
	seen    map[string]bool
	files   []named
	folders []string // that a word names
	left    int64    // bytes that may still be read
	looked  int
	unbound []string
	cut     bool // a limit was met
}

func (b *binder) unsure(text string) {
	if !slices.Contains(b.unbound, text) {
		b.unbound = append(b.unbound, text)
	}
}

// add takes a path, where there is something.
func (b *binder) add(path string) {
	if b.seen[path] || unreal(path) {
		return
	}
	b.seen[path] = true
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && len(b.folders) < maxNamed {
		b.folders = append(b.folders, path)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return
	}
	p, err := b.guard.Resolve("", path)
	if err != nil || p.Area == fsguard.State || p.Info == nil {
		return
	}
	if len(b.files) == maxBound {
		b.cut = true
		return
	}
	n := named{Path: path}
	if p.Info.Size() <= min(b.left, maxNamedSize) {
		b.left -= p.Info.Size()
		n.SHA256, err = sum(b.guard, p)
	}
	if err != nil || n.SHA256 == "" {
		n.Version = FileVersion(p.Info)
	}
	b.files = append(b.files, n)
}

// expand takes the files in a folder that match a pattern of the shell: parts are those of a path.
func (b *binder) expand(dir string, parts []string) {
	if len(parts) == 0 {
		b.add(dir)
		return
	}
	if unreal(dir + "/") {
		return
	}
	pattern := strings.ReplaceAll(parts[0], "[!", "[^")
	if !strings.ContainsAny(pattern, "*?[") {
		b.expand(filepath.Join(dir, pattern), parts[1:])
		return
	}
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	names, err := f.Readdirnames(maxLooked)
	if err = errors.Join(err, f.Close()); err != nil && !errors.Is(err, io.EOF) {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if b.looked++; b.looked > maxLooked {
			b.cut = true
			return
		}
		if ok, err := filepath.Match(pattern, name); ok && err == nil {
			b.expand(filepath.Join(dir, name), parts[1:])
		}
	}
}

func (b *binder) pattern(path string) {
	b.expand(string(filepath.Separator), strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/"))
}

// defaults takes the files that a program reads without being told their names: from its folder, or the nearest one above that has one.
func (b *binder) defaults(program, dir string) {
	for range maxAbove {
		for _, name := range inspect.Defaults(program) {
			b.pattern(filepath.Join(dir, name))
		}
		if info, err := os.Lstat(filepath.Join(dir, ".git")); program == "git" && err == nil && !info.IsDir() {
			b.unsure("the hooks and the settings that " + filepath.Join(dir, ".git") + " leads to")
		}
		if dir == filepath.Dir(dir) || dir == b.guard.Home() {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// result lists the first files and hashes the others into one manifest.
func (b *binder) result(names inspect.Names) binding {
	out := binding{files: b.files[:min(len(b.files), maxNamed)]}
	if more := b.files[len(out.files):]; len(more) > 0 {
		h := sha256.New()
		for _, n := range more {
			_, _ = fmt.Fprintf(h, "%q %s %s\n", n.Path, n.SHA256, n.Version) // a hash takes everything
		}
		out.rest = &manifest{len(more), hex.EncodeToString(h.Sum(nil))}
	}
	if names.Cut {
		b.unsure("files that the end of so long a command names")
	}
	if b.cut {
		b.unsure(fmt.Sprintf("files after the first %d", maxBound))
	}
	if names.Unknown {
		b.unsure("files and programs that a variable or the output of another command names")
	}
	for _, pattern := range names.Wild {
		b.unsure("the files that " + pattern + " stands for")
	}
	out.unbound = append(b.unbound, "what these files and the programs read or start by themselves")
	return out
}

// unreal says of a path that the kernel makes up what is read there, perhaps never.
func unreal(path string) bool {
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/dev/")
}

// sum is the hash of a file, "" when it is too large.
func sum(g *fsguard.Guard, p fsguard.Place) (string, error) {
	f, err := g.Open(p)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxNamedSize+1))
	if err = errors.Join(err, f.Close()); err != nil || n > maxNamedSize {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
