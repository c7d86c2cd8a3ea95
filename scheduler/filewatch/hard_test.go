package filewatch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys/systest"
	"hob/scheduler/filewatch"
)

func (w *watchedHome) sh(script string) {
	w.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@y", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@y")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// Editors put files into place in many ways; each is one write of one file.
func TestHowEditorsSave(t *testing.T) {
	for name, script := range map[string]string{
		// What each program does, by its system calls, where the program itself is not at hand.
		"rename over": `printf 'new\n' > .a.tmp; mv .a.tmp a`,
		"vim":         `: > 4913; rm 4913; mv a a~; printf 'new\n' > a; rm a~`,
		"emacs":       `ln -s me@here .#a; cp a '#a#'; mv a a~; printf 'new\n' > a; rm '#a#' .#a a~`,
		"VS Code":     `: > a; printf 'new\n' > a`,
		"sed -i":      `sed -i 's/old/new/' a`,
		"gedit":       `printf 'new\n' > .goutputstream-XYZ; ln a a~; mv .goutputstream-XYZ a; rm a~`,
		"twice":       `printf 'x\n' > a; printf 'new\n' > a`,
		"the real vim": `command -v vim > /dev/null || { printf 'new\n' > a; exit; }
			vim -u NONE -es -c 'set backup writebackup backupcopy=no' -c '%s/old/new/' -c wq a < /dev/null; rm -f a~`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchedHome(t)
			w.put("a", "old\n")
			one := w.watch(nil)
			w.begin()
			w.sh(script)
			w.marker()
			if got := w.quiet(); !slices.Equal(got, []string{"changed a, 4 bytes"}) {
				t.Errorf("told %q", got)
			}
			w.whole(one.ID)
		})
	}
}

func TestFoldersThatAreMadeAndFilledInOneGo(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(nil)
	w.begin()
	w.sh(`mkdir -p a/b/c d; echo 1 > a/b/c/f; cp -r a e; echo 2 > d/g`)
	w.tells("created a/b/c/f, 2 bytes", "created d/g, 2 bytes", "created e/b/c/f, 2 bytes")
	// A folder of the same name, as a rule of the same inode, is another one.
	w.sh(`rm -rf a; mkdir -p a/b; echo 3 > a/b/h`)
	w.until("the second folder", func() bool { return len(w.lines()) == 5 })
	w.put("a/b/late", "x")
	w.until("a file in it", func() bool { return slices.Contains(w.lines(), "created a/b/late, 1 byte") })
	w.whole(one.ID)
}

func TestARenamedFolderIsOneChangeAndStaysWatched(t *testing.T) {
	w := newWatchedHome(t)
	w.sh(`mkdir -p a/x/y b; echo 1 > a/x/1; echo 2 > a/x/y/2; echo 3 > a/x/y/3; echo k > a/keep`)
	one := w.watch(nil)
	w.begin()
	w.rename("a/x", "b/z")
	w.tells("renamed b/z/ (was a/x/), a folder with 3 files")
	for i, name := range []string{"b/z/new", "b/z/y/new", "a/x"} {
		w.put(name, "n")
		w.until(name, func() bool { return len(w.lines()) == i+2 })
	}
	w.sh(`rm a/x; mv b/z a/x; echo 4 > a/x/y/4; mv a c; echo 5 > c/x/y/5; mv c a; echo 6 > a/x/y/6`)
	w.whole(one.ID)
	w.put("a/x/y/7", "7")
	w.whole(one.ID)
}

func TestARootThatIsNotThereIsWaitedFor(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(func(o *filewatch.Watch) {
		o.Paths = []string{w.dir + "/later/deep", w.dir + "/one.txt", w.dir + "/globs/*.pdf"}
	})
	w.begin()
	w.sh(`mkdir -p later/deep/sub globs; echo 1 > later/deep/sub/f; echo 2 > later/not; echo 3 > one.txt; echo 4 > two.txt; echo 5 > globs/a.pdf; echo 6 > globs/a.txt`)
	w.tells("created globs/a.pdf, 2 bytes", "created later/deep/sub/f, 2 bytes", "created one.txt, 2 bytes")
	w.sh(`mv later away; rm -r globs one.txt`)
	w.until("all gone", func() bool { return len(w.lines()) == 6 })
	w.sh(`mv away later; echo 7 > later/deep/g; echo 8 > one.txt; mkdir globs; echo 9 > globs/b.pdf`)
	w.until("all back", func() bool { return len(w.lines()) == 10 })
	if got := w.troubles(one.ID); len(got) > 0 {
		t.Errorf("troubles: %q", got)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	w := newWatchedHome(t)
	w.sh(`mkdir .git; printf 'build/\n*.log\n!keep.log\n' > .gitignore`)
	for name, edit := range map[string]func(*filewatch.Watch){
		"ignored": func(o *filewatch.Watch) { o.Gitignore = true },
		"include": func(o *filewatch.Watch) { o.Include = []string{"*.txt", "sub/**/*.md"} },
		"flat":    func(o *filewatch.Watch) { o.Flat = true },
		"glob":    func(o *filewatch.Watch) { o.Paths = []string{w.dir + "/**/*.{txt,md}"} },
	} {
		w.watch(func(o *filewatch.Watch) { o.Name = name; edit(o) })
	}
	w.begin()
	w.sh(`mkdir -p build sub/deep; for f in a.txt a.md a.log keep.log build/b.txt sub/s.txt sub/deep/d.md; do echo 1 > $f; done`)
	want := map[string]string{
		"ignored": "a.md a.txt keep.log sub/deep/d.md sub/s.txt", "include": "a.txt build/b.txt sub/deep/d.md sub/s.txt", "flat": "a.log a.md a.txt keep.log",
		"glob": "a.md a.txt build/b.txt sub/deep/d.md sub/s.txt",
	}
	w.until("all four", func() bool { return len(w.store.Inbox()) >= 4 })
	for _, in := range w.store.Inbox() {
		var names []string
		for l := range strings.Lines(in.Parts[1].Text) {
			if name, ok := strings.CutPrefix(l, "- created "+w.dir+"/"); ok {
				names = append(names, strings.TrimSuffix(name, ", 2 bytes\n"))
			}
		}
		if got := strings.Join(names, " "); got != want[in.Sender] {
			t.Errorf("%s: %s, want %s", in.Sender, got, want[in.Sender])
		}
	}
	// What becomes ignored has not gone away.
	w.sh(`echo a.md >> .gitignore; echo 2 > b.txt`)
	w.until("the rules", func() bool { return len(w.store.Inbox()) >= 8 })
	for _, l := range w.lines() {
		if strings.HasPrefix(l, "removed") {
			t.Errorf("told %s", l)
		}
	}
}

func TestOddFiles(t *testing.T) {
	w := newWatchedHome(t)
	one := w.watch(nil)
	w.begin()
	w.sh(`mkdir sub; ln -s .. sub/loop; ln -s loop sub/self; mkfifo pipe; : > empty; printf '\0\1' > binary; printf 'a=1' > .env; ln -s /nowhere dangling
		head -c 40000 /dev/zero | tr '\0' x > long; echo x > "$(printf 'new\nline')"; printf 'esc\033[31m' > esc`)
	w.tells("created .env, 3 bytes", "created binary, 2 bytes", "created dangling, 8 bytes", "created empty, 0 bytes", "created esc, 8 bytes", "created long, 40,000 bytes",
		`created "new\nline", 2 bytes`, "created sub/loop, 2 bytes", "created sub/self, 4 bytes")
	text := w.store.Inbox()[0].Parts[1].Text
	for _, secret := range []string{"a=1", "xxxx", "\x1b", "new\nline"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is shown:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, "+esc\uFFFD[31m") {
		t.Errorf("no diff of a new file:\n%s", text)
	}
	w.sh(`ln -sfn sub dangling; chmod 0 long; echo 2 > sub/f`)
	w.until("the link", func() bool { return slices.Contains(w.lines(), "changed dangling, 3 bytes") })
	w.whole(one.ID)
}

// A state folder inside of what is watched is not looked into, and neither are its files under other names.
func TestHobsOwnStateIsNeverSeen(t *testing.T) {
	w := newWatchedHome(t)
	must(t, os.WriteFile(w.state+"/hob.db", []byte("secret"), 0o600))
	p, open := newPoor(1 << 20)
	w.open = open
	one := w.watch(func(o *filewatch.Watch) { o.Paths = []string{w.home} })
	w.begin()
	must(t, os.WriteFile(w.state+"/hob.db-wal", []byte("secret"), 0o600))
	must(t, os.Link(w.state+"/hob.db", w.dir+"/other"))
	must(t, os.WriteFile(w.home+"/.hob/config.toml", []byte("# mine"), 0o600))
	w.marker()
	if got := w.quiet(); !slices.Equal(got, []string{"created " + w.home + "/.hob/config.toml, 6 bytes"}) {
		t.Errorf("told %q", got)
	}
	rows, err := w.store.Snapshot(t.Context(), one.ID)
	must(t, err)
	for _, f := range rows {
		if strings.HasPrefix(f.Path, w.state) || strings.HasSuffix(f.Path, "other") {
			t.Errorf("%s is in the snapshot", f.Path)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.given[w.space] || p.given[w.state] {
		t.Errorf("the workspace is watched: %v, the state folder: %v", p.given[w.space], p.given[w.state])
	}
}

// A checkout between branches is few events, and the snapshot is what stands there at the end.
func TestACheckoutOfALargeTree(t *testing.T) {
	systest.Program(t, "git")
	files := 1000
	if systest.Thorough() {
		files = 5_000 // more than two commits of a first look
	}
	w := newWatchedHome(t)
	w.sh(`git init -q -b one; git config core.autocrlf false; git config gc.auto 0; git config core.fsync none`)
	for i := range files {
		w.put(fmt.Sprintf("d%d/e%d/f%d", i%20, i%100, i), fmt.Sprint("one ", i))
	}
	w.sh(`git add .; git commit -qm one; git checkout -qb two`)
	for i := range files {
		path := filepath.Join(w.dir, fmt.Sprintf("d%d/e%d/f%d", i%20, i%100, i))
		if i%3 == 0 {
			must(t, os.Remove(path))
		} else {
			must(t, os.WriteFile(path, fmt.Appendf(nil, "two %d", i), 0o600))
		}
	}
	w.sh(`for i in 1 2 3; do mkdir -p n$i/x; echo $i > n$i/x/f; done; git add -A .; git commit -qm two; git checkout -q one`)
	one := w.watch(func(o *filewatch.Watch) { o.Gitignore, o.Settle = true, 5*settle })
	began := time.Now()
	w.begin()
	w.wholeTree(one.ID)
	w.sh(`git checkout -q two`)
	w.wholeTree(one.ID)
	w.sh(`git checkout -q one; git checkout -q two; git checkout -q one`)
	w.wholeTree(one.ID)
	w.fewEvents(began, one)
}

// wholeTree is whole for a work tree, whose .git is left out.
func (w *watchedHome) wholeTree(id int64) {
	w.Helper()
	must(w, os.Rename(filepath.Join(w.dir, ".git"), filepath.Join(w.home, "git")))
	w.whole(id)
	must(w, os.Rename(filepath.Join(w.home, "git"), filepath.Join(w.dir, ".git")))
}
