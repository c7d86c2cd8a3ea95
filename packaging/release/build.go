package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// programs builds hob for every target. The version is what the Go tool has written into the program: the tag, or the commit's time and hash.
func (r *release) programs(ctx context.Context) error {
	for i := range r.targets {
		t := &r.targets[i]
		t.binary = filepath.Join(r.work, t.String(), "hob")
		if t.os == "windows" {
			t.binary += ".exe"
		}
		// The levels of processors are Go's defaults, whatever the environment says.
		env := []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}
		vcs := fmt.Sprintf("-buildvcs=%t", !r.named)
		if _, err := r.with(ctx, env, "go", "build", "-trimpath", vcs, "-ldflags=-s -w", "-o", t.binary, "./cmd/hob"); err != nil {
			return err
		}
	}
	if r.named {
		return nil
	}
	info, err := buildinfo.ReadFile(r.targets[0].binary)
	if err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if r.version = packageVersion(info.Main.Version); r.version == "" {
		return fmt.Errorf("the Go tool has found no commit (its version is %q): run this in a clone of the repository; a linked worktree is none for it", info.Main.Version)
	}
	return nil
}

// packageVersion is a version of Go's in a form that dpkg, rpm and apk understand and sort before the release that it leads to: a commit
// after no tag is 0.0.0-pre20260102030405, a tag v1.2.3-rc.1 is 1.2.3-rc1. It is "" for what is no version of a commit.
func packageVersion(v string) string {
	// A pseudo-version is what the Go tool makes of a commit without a tag (https://go.dev/ref/mod#pseudo-versions).
	pseudo := regexp.MustCompile(`^v(\d+\.\d+\.\d+)-(?:.*\.)?(\d{14})-[0-9a-f]{12}$`)
	tagged := regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?$`)
	if m := pseudo.FindStringSubmatch(v); m != nil {
		return m[1] + "-pre" + m[2]
	}
	m := tagged.FindStringSubmatch(v)
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return m[1]
	}
	return m[1] + "-" + strings.NewReplacer(".", "", "-", "").Replace(m[2])
}

// documents makes the man pages and the completions from the commands. The program is built for this machine, whatever the targets are.
func (r *release) documents(ctx context.Context) error {
	hob, manual := filepath.Join(r.work, "hob"), filepath.Join(r.work, "documents", "man")
	completions := filepath.Join(r.work, "documents", "completions")
	compressed := filepath.Join(r.work, "packages", "man") // Debian's policy 12.1 wants them compressed
	for _, dir := range []string{manual, completions, compressed} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
	}
	if _, err := r.output(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", hob, "./cmd/hob"); err != nil {
		return err
	}
	// The file names are those under which the shells look for completions.
	for shell, file := range map[string]string{"bash": "hob.bash", "zsh": "_hob", "fish": "hob.fish", "powershell": "hob.ps1"} {
		text, err := r.output(ctx, hob, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(completions, file), []byte(text+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the completion: %w", err)
		}
	}
	// The commands are in a package that only its own tests can import.
	_, err := r.with(ctx, []string{"HOB_MAN=" + manual}, "go", "test", "-trimpath", "-count=1", "-run=^TestManPages$", "./cmd/hob")
	if err != nil {
		return err
	}
	pages, err := os.ReadDir(manual)
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("no man pages were written: %w", err)
	}
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(manual, p.Name()))
		if err != nil {
			return fmt.Errorf("read a man page: %w", err)
		}
		var packed bytes.Buffer
		if err := compress(&packed, text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(compressed, p.Name()+".gz"), packed.Bytes(), 0o600); err != nil {
			return fmt.Errorf("write a man page: %w", err)
		}
	}
	return nil
}

// licences collects the texts that the licences of the modules in the programs, and Go's own, require beside every copy.
func (r *release) licences(ctx context.Context) error {
	modules := map[string]bool{}
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(t.binary)
		if err != nil {
			return fmt.Errorf("read the modules: %w", err)
		}
		for _, d := range info.Deps {
			modules[d.Path] = true
		}
	}
	args := append([]string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}, slices.Sorted(maps.Keys(modules))...)
	list, err := r.output(ctx, "go", args...)
	if err != nil {
		return err
	}
	goroot, err := r.output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("hob contains the Go standard library and the modules below. These are their licences.\n")
	for _, line := range append([]string{"Go\t" + goroot}, strings.Split(list, "\n")...) {
		name, dir, _ := strings.Cut(line, "\t")
		texts, err := licenceTexts(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b, "\n==== %s\n\n%s", name, texts)
	}
	if err := os.WriteFile(filepath.Join(r.work, "documents", "THIRD-PARTY-LICENSES.txt"), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write the licences: %w", err)
	}
	return nil
}

// licenceTexts joins the licence and notice files at the top of a module. A module without any may not be shipped.
func licenceTexts(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look for the licence: %w", err)
	}
	var b strings.Builder
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !regexp.MustCompile(`^(LICEN[SC]E|COPYING|NOTICE|COPYRIGHT)`).MatchString(upper) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("read the licence: %w", err)
		}
		b.Write(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s has no licence file: replace the module, or add its licence", dir)
	}
	return b.String(), nil
}
