//go:build unix

package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/policy"
	"hob/tools"
	"hob/tools/runtime"
)

// TestWhatAnApprovalIsBoundTo (S8) changes a file between the question and the answer, in all forms of naming it: the call is another one then,
// or the question has said that the file is not bound.
func TestWhatAnApprovalIsBoundTo(t *testing.T) {
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf("f%d", i))
	}
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		file, command string
		env           map[string]string
		swap          func(t *testing.T, dir string) // nil: the file's content changes
		said          string                         // in the question, where the approval is not bound; "" where it is
	}{
		"a script":             {file: "x.sh", command: "sh x.sh"},
		"a program":            {file: "x", command: "./x"},
		"behind cd":            {file: "d/x.sh", command: "cd d && sh x.sh"},
		"a variable":           {file: "x.sh", command: `f=x.sh; sh "$f"`},
		"a variable of env":    {file: "x.sh", command: `sh "$f"`, env: map[string]string{"f": "x.sh"}},
		"standard input":       {file: "x.sh", command: "sh < x.sh"},
		"bash -c":              {file: "x.sh", command: "bash -c 'sh x.sh'"},
		"bash -c, four deep":   {file: "x.sh", command: `bash -c "bash -c 'bash -c \"sh x.sh\"'"`},
		"eval":                 {file: "x.sh", command: `eval "$(cat x.sh)"`},
		"a makefile by name":   {file: "my.mk", command: "make -f my.mk"},
		"a large file":         {file: "big.sh", command: "sh big.sh", swap: func(t *testing.T, dir string) { t.Helper(); rewrite(t, dir+"/big.sh", 2<<20) }},
		"a link":               {file: "link", command: "sh link", swap: func(t *testing.T, dir string) { t.Helper(); relink(t, dir+"/link", dir+"/other") }},
		"the working folder":   {file: "x.sh", command: "sh ./x.sh", swap: func(t *testing.T, dir string) { t.Helper(); rename(t, dir, dir+".was"); rename(t, dir+".now", dir) }},
		"the 17th file":        {file: "f17.sh", command: "cat " + strings.Join(many, " ") + "; sh f17.sh"},
		"a pattern":            {file: "g1.sh", command: "sh g*.sh"},
		"a pattern, a set":     {file: "g1.sh", command: "sh g[!0].sh"},
		"a pattern in folders": {file: "d/e/x.sh", command: "for f in */?/x.sh; do sh $f; done"},
		"a pattern, one more":  {file: "g1.sh", command: "cat g*.sh | sh", swap: func(t *testing.T, dir string) { t.Helper(); write(t, dir+"/g2.sh") }},
		"PATH":                 {file: "bin/tool1", command: "PATH=$PWD/bin:$PATH tool1"},
		"PATH, exported":       {file: "bin/tool1", command: "export PATH=$PWD/bin:$PATH\ntool1"},
		"PATH of env":          {file: "bin/tool1", command: "tool1", env: map[string]string{"PATH": "bin:/usr/bin:/bin"}},
		"PATH, a new one":      {file: "x", command: "PATH=$PWD/bin:$PATH tool2", swap: func(t *testing.T, dir string) { t.Helper(); write(t, dir+"/bin/tool2") }},
		"BASH_ENV":             {file: "x.sh", command: "true", env: map[string]string{"BASH_ENV": "./x.sh"}},
		"make":                 {file: "Makefile", command: "make -s"},
		"make, elsewhere":      {file: "d/makefile", command: "make -C d"},
		"make, a better one":   {file: "Makefile", command: "make", swap: func(t *testing.T, dir string) { t.Helper(); write(t, dir+"/GNUmakefile") }},
		"sudo make":            {file: "Makefile", command: "sudo -n make"},
		"npm":                  {file: "package.json", command: "npm test"},
		"npm, from below":      {file: "package.json", command: "cd d && npm test"},
		"git":                  {file: ".git/hooks/pre-commit", command: "git commit -m x"},
		"git, a new hook":      {file: ".git/config", command: "git commit -m x", swap: func(t *testing.T, dir string) { t.Helper(); write(t, dir+"/.git/hooks/update") }},
		"git's settings":       {file: ".git/config", command: "git status"},

		"what a script reads":  {file: "i.sh", command: "sh o.sh", said: "what these files and programs read or start in turn"},
		"what it imports":      {file: "i.py", command: "python3 m.py", said: "what these files and programs read or start in turn"},
		"an unknown variable":  {file: "x.sh", command: "sh ${NONE:-x}.sh", said: "files and programs named by a variable or by the output of another command"},
		"an unknown PATH":      {file: "bin/tool1", command: "PATH=$(pwd)/bin:$PATH tool1", said: "programs named by a variable or by the output of another command"},
		"a form of pattern":    {file: "g1.sh", command: "sh g[[:digit:]].sh", said: "/g[[:digit:]].sh"},
		"all folders":          {file: "d/e/x.sh", command: "shopt -s globstar; cat **/x.sh | sh", said: "/**/x.sh"},
		"too many words":       {file: "x.sh", command: strings.Repeat("true a;", 800) + "sh x.sh", said: "files named near the end of this long command"},
		"too deep":             {file: "x.sh", command: nested(6, "sh x.sh"), said: "files named near the end of this long command"},
		"git, a linked folder": {file: "x", command: "git commit", swap: func(*testing.T, string) {}, said: "/.git points to"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, runtime.Limits{})
			for _, f := range append(slices.Clone(many), "d/e/keep", "bin/keep", "other", "o.sh", "m.py") {
				b.put(t, f, "harmless "+f)
			}
			if name == "git, a linked folder" {
				b.put(t, ".git", "gitdir: elsewhere")
			}
			if strings.HasPrefix(c.file, ".git/") {
				b.put(t, ".git/hooks/keep", "x")
			}
			if c.file == "link" {
				if err := os.Symlink("o.sh", filepath.Join(b.dir, "link")); err != nil {
					t.Fatal(err)
				}
			} else {
				b.put(t, c.file, "harmless")
			}
			if c.file == "big.sh" {
				rewrite(t, b.dir+"/big.sh", 2<<20)
			}
			if name == "the working folder" {
				if err := os.CopyFS(b.dir+".now", os.DirFS(b.dir)); err != nil {
					t.Fatal(err)
				}
			}
			args := sh(c.command)
			if c.env != nil {
				args["env"] = c.env
			}
			first := b.meant(t, args)
			if again := b.meant(t, args); string(again.Canonical) != string(first.Canonical) {
				t.Fatalf("it is another call without a change:\n%s\n%s", first.Canonical, again.Canonical)
			}
			if c.swap == nil {
				c.swap = func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, c.file)) }
			}
			c.swap(t, b.dir)
			same := string(b.meant(t, args).Canonical) == string(first.Canonical)
			question := policy.ApprovalText("hob wants to", first, policy.Decision{Reason: "it is so"})
			if same != (c.said != "") || !strings.Contains(question, c.said) {
				t.Errorf("the same call %v, want %v (%q) in\n%s", same, c.said != "", c.said, question)
			}
			if !strings.Contains(question, "careful: an approval does not bind ") {
				t.Error(question)
			}
		})
	}
}

// TestSamplesOfHooksAreNotListed: a question about git is not full of what git never runs.
func TestSamplesOfHooksAreNotListed(t *testing.T) {
	b := newBench(t, runtime.Limits{})
	for _, f := range []string{"pre-commit.sample", "update.sample", "pre-push", "update"} {
		b.put(t, ".git/hooks/"+f, "x")
	}
	text := string(b.meant(t, sh("git commit")).Canonical)
	if strings.Contains(text, "sample") || !strings.Contains(text, "/pre-push") || !strings.Contains(text, "/update") {
		t.Error(text)
	}
}

// TestTheManifestOfAnApproval: files after the 16th are in the question as their number and one hash.
func TestTheManifestOfAnApproval(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin") // a program in another folder would be in it too
	b := newBench(t, runtime.Limits{})
	for i := range 300 {
		b.put(t, fmt.Sprintf("p%03d", i), "x")
	}
	i := b.meant(t, sh("cat p*"))
	if !strings.Contains(string(i.Canonical), `"more":{"count":284,"sha256":"`) || len(i.Canonical) > 6000 {
		t.Errorf("%d bytes: %s", len(i.Canonical), i.Canonical)
	}
}

// TestAnApprovalOnAHost: of another machine nothing is bound, which is said.
func TestAnApprovalOnAHost(t *testing.T) {
	text := policy.ApprovalText("hob wants to", tools.Intent{Summary: "run", Unbound: []string{"the contents of files and programs on nas"}}, policy.Decision{})
	if !strings.Contains(text, "an approval does not bind the contents of files and programs on nas") {
		t.Error(text)
	}
}

// nested is a command inside n shells.
func nested(n int, command string) string {
	for range n {
		command = "bash -c " + fmt.Sprintf("%q", command)
	}
	return command
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("touch pwn"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
}

// rewrite fills a file anew, and keeps its size and its time.
func rewrite(t *testing.T, path string, size int) {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("y", size)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func relink(t *testing.T, link, to string) {
	t.Helper()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
}
