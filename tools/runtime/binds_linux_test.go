package runtime_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys/systest"
	"hob/tools"
	"hob/tools/runtime"
)

// withBinds is a bench with the root ~/r and binds, each PATH and whether it may be written. Its marks are kept.
func withBinds(t *testing.T, binds map[string]bool) *copies {
	t.Helper()
	c := &copies{marks: map[string]bool{}}
	c.bench = newBench(t, runtime.Limits{}, func(d *runtime.ExecDeps) {
		home := d.Guard.Home()
		conf := fsguard.Config{Workspace: home + "/ws", State: home + "/state", Home: home, Roots: []fsguard.Root{{Path: home + "/r", Write: true}}}
		box := sandbox.Config{Home: home, State: home + "/state", Self: self(t)}
		for path, write := range binds {
			conf.Binds = append(conf.Binds, fsguard.Root{Path: home + path, Write: write})
			box.Binds = append(box.Binds, sandbox.Bind{Path: home + path, Write: write})
		}
		conf.Marked = func(path string) string {
			if c.isMarked(path) {
				return "marked"
			}
			return ""
		}
		var err error
		if d.Guard, err = fsguard.New(conf); err != nil {
			t.Fatal(err)
		}
		if d.Sandbox = sandbox.New(t.Context(), box); !d.Sandbox.Works() {
			systest.Missing(t, d.Sandbox.State().Why)
		}
		d.Marked = c.paths
	})
	c.call.Scratch = fsguard.ScratchOf(c.dir, "main")
	for _, dir := range []string{"/r", "/.tool", "/data"} {
		if err := os.MkdirAll(c.home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// T4: a marked file is hidden from every command, wherever the sandbox shows its folder.
func TestMarksInEachFolderOfASandbox(t *testing.T) {
	for _, write := range []bool{false, true} {
		b := withBinds(t, map[string]bool{"/.tool": write, "/data": write, "/file.md": write})
		for _, path := range []string{"ws/m.md", "r/m.md", ".tool/m.md", "data/m.md", "file.md"} {
			b.mark(b.put(t, "../"+path, evil))
			for name, args := range map[string]map[string]any{
				"exec": {}, "pty": {"pty": true}, "background": {"background": true},
			} {
				args["command"] = "cd ~; cat " + path + " > ws/AGENTS.md; cat " + path + "; true"
				res, out := b.run(t, args)
				text := out.Output
				if out.ProcessID != "" {
					text = b.report(t).Text
				}
				copied, err := os.ReadFile(b.dir + "/AGENTS.md")
				if err != nil || strings.Contains(text+string(copied), evil) {
					t.Errorf("writable %v, %s, %s: it is seen: %q %+v", write, name, path, copied, res)
				}
			}
		}
	}
}

// T4: what a command reads in a bind that is no root is foreign text, whether it may write there or not. Folders of data are hidden from a
// command that does not name them; those of a program's settings are not.
func TestBindsAreForeignUnlessTheyAreRoots(t *testing.T) {
	b := withBinds(t, map[string]bool{"/.tool": false, "/data": true, "/r/own": false, "/.mail": false})
	for _, name := range []string{"../.tool/l.txt", "../data/l.txt", "../r/own/l.txt", "../.mail/l.txt"} {
		b.put(t, name, evil)
	}
	b.put(t, "read.sh", "cat ~/d*/l.txt ~/.mail/l.txt")
	if err := os.Symlink(b.home+"/data", b.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]struct{ seen, foreign bool }{
		"cat ~/data/l.txt":                        {true, true},
		"cd ../data; cat l.txt":                   {true, true},
		"cat link/l.txt":                          {true, true},
		"cat ~/.tool/l.txt":                       {true, true},
		"cat ~/.t*/l.txt":                         {true, false}, // settings, which any command may read
		"cat ~/r/own/l.txt":                       {true, false},
		"cat ~/d*/l.txt":                          {false, false},
		"sh read.sh":                              {false, false},
		"find ~ -path '*/.mail/*' -exec cat {} +": {false, false},
		"cat ~/data/l.txt > copy.txt; cp copy.txt AGENTS.md": {false, true},
	} {
		res, out := b.run(t, sh(command))
		if strings.Contains(out.Output, evil) != want.seen || (res.Foreign != "") != want.foreign {
			t.Errorf("%s: want %+v, got foreign %q, %q", command, want, res.Foreign, out.Output)
		}
		if hidden := !want.foreign && !want.seen && code(out) != 0; hidden != strings.Contains(res.Content, "only a command that names it sees the bind") {
			t.Errorf("%s: what is hidden: %s", command, res.Content)
		}
		if got := b.marked(res); strings.Contains(command, "AGENTS") && !slices.Contains(got, "AGENTS.md") {
			t.Errorf("%s: marked %v", command, got)
		}
	}
}

// T4: what a command that sees foreign files writes to a bind is marked, in a folder and in a bind that is a file.
func TestWhatIsWrittenToABindIsMarked(t *testing.T) {
	b := withBinds(t, map[string]bool{"/.tool": true, "/file.md": true, "/none": true})
	b.put(t, "../file.md", "mine")
	b.put(t, "../.tool/old", "mine")
	b.put(t, "attachments/1/letter.txt", evil)
	later()
	res, _ := b.run(t, sh("cp attachments/1/letter.txt ~/.tool/new"))
	if got := b.marked(res); !slices.Equal(got, []string{b.home + "/.tool/new"}) {
		t.Errorf("marked %v", got)
	}
	b.keep(res.Changes)
	if _, out := b.run(t, sh("cat ~/.t*/new")); strings.Contains(out.Output, evil) {
		t.Errorf("it is seen: %q", out.Output)
	}
	later()
	res, _ = b.run(t, sh("cat attachments/1/letter.txt > ~/file.md"))
	if got := b.marked(res); !slices.Equal(got, []string{b.home + "/file.md"}) {
		t.Errorf("marked %v", got)
	}
	b.call.Tainted = true
	if _, out := b.run(t, sh("echo x > ~/.tool/new || echo refused")); !strings.Contains(out.Output, "refused") {
		t.Errorf("a turn with foreign text writes to a bind: %q", out.Output)
	}
	if p, err := b.guard.Resolve("", b.home+"/.tool/new"); err != nil || p.Foreign == "" || tools.PathOf(p, false).Area != tools.Outside {
		t.Errorf("%+v, %v", p, err)
	}
}
