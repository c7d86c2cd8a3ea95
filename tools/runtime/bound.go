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
)

// Limits of the search for files that the approval of a command covers.
const (
	maxNamed     = 16       // files listed one by one; the manifest holds the others
	maxBound     = 2_000    // files in total
	maxNamedSize = 1 << 20  // bytes; a larger file is bound by its version
	maxReadSize  = 16 << 20 // bytes read from all files together
	maxLooked    = 20_000   // folder entries compared with patterns
	maxAbove     = 12       // parent folders searched for default files
)

// named is one file that the command refers to. A file that is too large to hash has a Version (see
// FileVersion) instead of a SHA256.
type named struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`
	Version string `json:"version,omitempty"`
}

// manifest summarises the files that are not listed one by one: their number, and one hash over
// their paths, hashes and versions.
type manifest struct {
	Count  int    `json:"count"`
	SHA256 string `json:"sha256"`
}

// binding is the part of an approval besides the command itself. An approval is only valid while
// these files are unchanged. unbound lists, in words for the owner, what the approval cannot cover.
type binding struct {
	files   []named
	rest    *manifest
	unbound []string
}

// bind collects the files that a command names, the files that its programs read by default, and
// the programs that it starts. An approval of "sh x.sh" thereby also covers the content of x.sh.
// The files of a remote host cannot be read, so nothing is bound there.
func bind(e executor, at *site, in ExecInput) binding {
	if at.host != "" {
		return binding{unbound: []string{"the contents of files and programs on " + at.host}}
	}
	names := fileNames(in.Command, e.Guard.Home(), at.cwd, newEnviron(e.Environ, environSetting{Home: e.Guard.Home(), Cwd: at.cwd}, in.Env), in.Env)
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

// binder collects files and keeps count of the limits above.
type binder struct {
	guard   *fsguard.Guard
	seen    map[string]bool
	files   []named
	folders []string // folders that a word of the command names
	left    int64    // bytes that may still be read
	looked  int      // folder entries compared with patterns
	unbound []string
	cut     bool // a limit was reached
}

// unsure notes once what the approval cannot cover.
func (b *binder) unsure(text string) {
	if !slices.Contains(b.unbound, text) {
		b.unbound = append(b.unbound, text)
	}
}

// add records one path. It ignores paths that do not exist, folders, empty files and hob's own
// state. A folder is remembered, because a program may read its default files from there.
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

// expand adds the files below dir that match a shell pattern. parts are the components of the
// pattern. It reads folder names only, and stops after maxLooked of them.
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
	// A file is not opened: closing the database would drop its locks, and a FIFO would wait.
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
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

// pattern adds the files that match an absolute pattern.
func (b *binder) pattern(path string) {
	b.expand(string(filepath.Separator), strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/"))
}

// defaults adds the files that a program reads although the command does not name them, such as a
// Makefile. Like the programs, it looks in dir and in up to maxAbove folders above it, and stops at
// the home.
func (b *binder) defaults(program, dir string) {
	for range maxAbove {
		for _, name := range defaultFiles(program) {
			b.pattern(filepath.Join(dir, name))
		}
		if info, err := os.Lstat(filepath.Join(dir, ".git")); program == "git" && err == nil && !info.IsDir() {
			b.unsure("the hooks and settings that " + filepath.Join(dir, ".git") + " points to")
		}
		if dir == filepath.Dir(dir) || dir == b.guard.Home() {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// result lists the first maxNamed files one by one, and hashes the others into one manifest.
func (b *binder) result(names namedFiles) binding {
	out := binding{files: b.files[:min(len(b.files), maxNamed)]}
	if more := b.files[len(out.files):]; len(more) > 0 {
		h := sha256.New()
		for _, n := range more {
			_, _ = fmt.Fprintf(h, "%q %s %s\n", n.Path, n.SHA256, n.Version) // writing to a hash cannot fail
		}
		out.rest = &manifest{len(more), hex.EncodeToString(h.Sum(nil))}
	}
	if names.Cut {
		b.unsure("files named near the end of this long command")
	}
	if b.cut {
		b.unsure(fmt.Sprintf("files after the first %d", maxBound))
	}
	if names.Unknown {
		b.unsure("files and programs named by a variable or by the output of another command")
	}
	for _, pattern := range names.Wild {
		b.unsure("the files that match " + pattern)
	}
	out.unbound = append(b.unbound, "what these files and programs read or start in turn")
	return out
}

// unreal reports whether the kernel generates the content of a path. Reading such a file may block
// for ever, and its hash means nothing.
func unreal(path string) bool {
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/dev/")
}

// sum returns the SHA-256 of a file in hex, or "" if the file is larger than maxNamedSize.
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
