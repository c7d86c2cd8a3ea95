package walk_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sys/systest"
	"hob/daemon/walk"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes an empty repository. Its folder is also the home.
func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(systest.Program(t, "git"), "init", "-q", dir)
	cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	must(t, cmd.Run())
	return dir
}

// gitIgnores returns the paths, without a slash at the end, that git ignores.
func gitIgnores(t testing.TB, dir string, paths []string) map[string]bool {
	t.Helper()
	cmd := exec.Command(systest.Program(t, "git"), "check-ignore", "-z", "--no-index", "--stdin")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00"))
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v", err)
	}
	found := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		found[p] = true
	}
	return found
}

// ignores walks down to a path, as a search does. Everything below an ignored folder is ignored.
func ignores(t testing.TB, r walk.RulesReader, root, path string) bool {
	t.Helper()
	node, err := r.Above(root, root)
	must(t, err)
	dir, isFolder := root, strings.HasSuffix(path, "/")
	names := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, name := range names {
		found := walk.RuleFiles(0)
		for _, f := range []string{".git", ".gitignore", ".ignore", ".rgignore"} {
			if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
				found |= walk.RuleFile(f)
			}
		}
		if node, err = r.Enter(node, dir, found); err != nil {
			t.Fatal(err)
		}
		if node.Verdict(dir, name, isFolder || i < len(names)-1) == walk.Ignored {
			return true
		}
		dir = filepath.Join(dir, name)
	}
	return false
}

func reader(home string) walk.RulesReader { return walk.RulesReader{Read: os.ReadFile, Home: home} }

func paths() []string {
	return []string{
		"a", "b.c", "a/b", "a/b/c", "a/b/c/d.o", "foo.log", "x/foo.log", "build/", "build/x", "src/build/", "src/build/y", "[x]", "a]b", "a-b", "*", "?", "\\", "a\\b",
		"a b", "a ", " a", "#a", "!a", "ä", "é.c", "A", "Z.c", "abc", "abcd", "a.b.c", "0", "9z", "a/a/a", "x/y/z/w", "b", "b/", "doc/a.txt", "doc/sub/a.txt", "-", "]",
	}
}

func TestRulesAreGits(t *testing.T) {
	for _, rules := range []string{
		"*.log", "/a", "a/", "b/", "build/", "/build", "src/build", "a/**", "**/b", "a/**/d.o", "**", "*", "/*", "*/", "!a", "*\n!a", "*\n!a/\n!a/b", "a\n!a/b", "# a\na", "\\#a", "\\!a",
		"a ", "a\\ ", "a   ", "\\", "a\\", "[", "[a", "[abc]", "[!a]", "[^a]", "[a-c]*", "[]x]", "a[]]b", "[a-]", "[\\]]", "[[:alpha:]]", "[[:digit:]]z", "[[:nope:]]", "[[:alpha:]-z]",
		"a[-]b", "?", "??", "a?b", "a*", "*.c", "a.*", "*b*", "doc/*.txt", "doc/**/*.txt", "doc/**.txt", "x/**/w", "x/**/y/**/w", "***", "a***", "**a", "a**/b", "/**/b", "/", "//", "!", "",
		"\xef\xbb\xbfa", "a\r\nb", "A", "\\a", "\\*", "\\?", "[*]", "ä", "[ä]", "é*", "a/b/c/", "./a", "a//b", "[z-a]", "[a-\\c]", "[[]x]", "*[!c]",
	} {
		root := repository(t)
		must(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(rules), 0o600))
		agree(t, root, rules, paths())
	}
}

// agree compares with git. It makes the folders, because git checks the file system.
func agree(t testing.TB, root, what string, paths []string) {
	t.Helper()
	for _, p := range paths {
		if strings.HasSuffix(p, "/") {
			must(t, os.MkdirAll(filepath.Join(root, p), 0o700))
		}
	}
	want := gitIgnores(t, root, paths)
	for _, p := range paths {
		asFolder := p
		if info, err := os.Stat(filepath.Join(root, p)); err == nil && info.IsDir() && !strings.HasSuffix(p, "/") {
			asFolder += "/"
		}
		if got := ignores(t, reader(root), root, asFolder); got != want[strings.TrimSuffix(p, "/")] {
			t.Errorf("%q: %q ignored: %v, git: %v", what, p, got, !got)
		}
	}
}

// Random rules in the root and in folders mean the same to hob and to git.
func TestRandomRulesAreGits(t *testing.T) {
	rounds := 25
	if systest.Thorough() {
		rounds = 150
	}
	pieces := []string{"*", "**", "/", "/", "a", "b", "c", "?", "[ab]", "[!b]", "[a-c]", ".", "!", "\\", "x", "log", "build", " ", "[[:alpha:]]", "-", "#"}
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		root := repository(t)
		all := ""
		for _, dir := range []string{"", "a", "src"} {
			var rules strings.Builder
			for range 3 {
				for range random.IntN(6) + 1 {
					rules.WriteString(pieces[random.IntN(len(pieces))])
				}
				rules.WriteByte('\n')
			}
			must(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
			must(t, os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(rules.String()), 0o600))
			all += dir + ": " + rules.String()
		}
		agree(t, root, all, paths())
	}
}

func TestPlaces(t *testing.T) {
	root := repository(t)
	put := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	put(".gitignore", "git\nall\n")
	put(".ignore", "dot\n!all\n")
	put(".rgignore", "!dot\nrg\n")
	put(".git/info/exclude", "info\n")
	put(".gitconfig", "[core] # mine\n\texcludesfile = ~/\"my excludes\" ; here\n")
	put("my excludes", "global\n")
	put("inner/.git/HEAD", "ref: x\n")
	put("inner/.gitignore", "own\n")
	for path, want := range map[string]bool{
		"git": true, "all": false, "dot": false, "rg": true, "info": true, "global": true, "none": false, "sub/git": true, "inner/git": false, "inner/own": true,
		"inner/rg": true, "inner/info": false, "inner/global": true, "sub/own": false,
	} {
		if got := ignores(t, reader(root), root, path); got != want {
			t.Errorf("%s ignored: %v", path, got)
		}
	}
	for path, want := range map[string]bool{"git": true, "rg": true, "info": true, "global": true, "x": false} {
		if got := ignores(t, reader(root), filepath.Join(root, "sub", "deeper"), path); got != want {
			t.Errorf("from below, %s ignored: %v", path, got)
		}
	}
}

func TestWithoutRepository(t *testing.T) {
	top := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(top, "ws", "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(top, ".gitignore"), []byte("above\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(top, "ws", ".gitignore"), []byte("here\n"), 0o600))
	r := reader(top)
	node, err := r.Above(filepath.Join(top, "ws", "sub"), filepath.Join(top, "ws"))
	must(t, err)
	for name, want := range map[string]walk.Verdict{"here": walk.Ignored, "above": walk.NoRule} {
		if got := node.Verdict(filepath.Join(top, "ws", "sub"), name, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestErrors(t *testing.T) {
	root := repository(t)
	broken := errors.New("broken")
	r := walk.RulesReader{Read: func(path string) ([]byte, error) {
		if filepath.Base(path) == ".gitignore" {
			return nil, broken
		}
		return nil, fs.ErrNotExist
	}}
	if _, err := r.Enter(nil, root, walk.GitRules); !errors.Is(err, broken) {
		t.Errorf("a file of rules that cannot be read: %v", err)
	}
}

func FuzzRules(f *testing.F) {
	f.Add("a*[b]?**/x\n!y", "a/b/x")
	f.Add("[[:alpha:]-\\", "]")
	f.Fuzz(func(t *testing.T, rules, path string) {
		if len(rules) > 200 || len(path) > 200 || path == "" {
			return
		}
		r := walk.RulesReader{Read: func(p string) ([]byte, error) { return []byte(rules), nil }}
		node, err := r.Enter(nil, "/r", walk.GitRules)
		must(t, err)
		node.Verdict("/r/"+filepath.Dir(path), filepath.Base(path), false)
	})
}

// Any rule means the same to hob and to git, for any path.
func FuzzRulesAreGits(f *testing.F) {
	for _, seed := range [][2]string{
		{"a*[b]?**/x\n!y", "a/b/x"}, {"[[:alpha:]-\\", "]"}, {"**/a/\r\n", "b/a/c"}, {"\\ \\\t", " "}, {"/*\n!/a\n/a/*\n!/a/b", "a/b"}, {"[^/]a", "xa"}, {"*\xff", "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rules, path string) {
		if len(rules) > 100 || len(path) > 100 || !filepath.IsLocal(path) || filepath.Clean(path) != path || path == "." ||
			strings.ContainsAny(path, "\x00") || strings.Contains(strings.ToLower(path), ".git") {
			return
		}
		root := repository(t)
		must(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(rules), 0o600))
		agree(t, root, rules, []string{path})
	})
}
