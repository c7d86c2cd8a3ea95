package skills_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/daemon/api"
	"hob/daemon/fsguard"
	"hob/daemon/skills"
	"hob/daemon/sys"
	host "hob/tools/skills"
)

// rows keeps decisions in memory, as the store does in its table.
type rows struct {
	mu    sync.Mutex
	list  []api.SkillRow
	texts []string // of the questions
	fail  error    // of the next commit
	asked func()   // nil, or what happens as soon as a question is open
	used  func()   // nil, or what happens as soon as a skill is in use
}

func (r *rows) Skills(context.Context) ([]api.SkillRow, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list), nil
}

func (r *rows) AskSkills(_ context.Context, text string, list []api.SkillRow) error {
	if r.asked != nil {
		defer r.asked()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
	for _, one := range list {
		one.State = api.SkillAsked
		r.list = append(r.list, one)
	}
	return nil
}

func (r *rows) TrustSkill(_ context.Context, name, hash string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	r.list = slices.DeleteFunc(r.list, func(o api.SkillRow) bool {
		return o.Name == name && (o.State == api.SkillTrusted || o.Hash == hash)
	})
	r.list = append(r.list, api.SkillRow{Name: name, Hash: hash, State: api.SkillTrusted})
	if r.used != nil {
		r.used()
	}
	return nil
}

func (r *rows) ForgetSkill(_ context.Context, name, hash string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o api.SkillRow) bool { return o.Name == name && (hash == "" || o.Hash == hash) })
	return nil
}

// answer closes the open question.
func (r *rows) answer(state api.SkillState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if r.list[i].State == api.SkillAsked {
			r.list[i].State = state
		}
	}
}

// world is a workspace with a service.
type world struct {
	t testing.TB
	*skills.Service
	rows       *rows
	space, dir string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, rows: &rows{}, space: filepath.Join(home, "workspace"), dir: filepath.Join(home, "workspace", "skills")}
	must(t, os.MkdirAll(w.dir, 0o700))
	must(t, os.MkdirAll(filepath.Join(home, "state"), 0o700))
	var copies *skills.Copies
	g, err := fsguard.New(fsguard.Config{Workspace: w.space, State: filepath.Join(home, "state"), Marked: func(p string) string { return copies.Foreign(p) }})
	must(t, err)
	copies = &skills.Copies{Guard: func() *fsguard.Guard { return g }, Dir: filepath.Join(home, "state", "skills")}
	w.Service = &skills.Service{Copies: copies, Rows: w.rows, Reserved: []string{"help"}, Known: []string{"read", "exec", "web_fetch"}, Log: slog.New(slog.DiscardHandler)}
	w.Folders = sys.NewFolders(w.Log)
	must(t, w.Load(t.Context()))
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file below the folder of the skills.
func (w *world) put(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.dir, path)
	must(w.t, os.MkdirAll(filepath.Dir(full), 0o700))
	must(w.t, os.WriteFile(full, []byte(text), 0o600))
}

// good writes a good skill.
func (w *world) good(name string) {
	w.t.Helper()
	w.put(name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does things with "+name+".\n---\nDo $1.\n")
}

func (w *world) state(name string) string {
	w.t.Helper()
	v, err := w.Show(w.t.Context(), name)
	must(w.t, err)
	return v.State
}

func (w *world) sync() {
	w.t.Helper()
	must(w.t, w.Sync(w.t.Context()))
}

func TestOneQuestionForAllNewSkills(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	w.put("one/scripts/run.sh", "echo run")
	w.put("two/SKILL.md", "---\nname: two\ndescription: See https://evil.example/x\nallowed-tools: Read Bash(git:*)\n---\nText.\n")
	w.put("broken/SKILL.md", "no front matter")
	w.sync()
	w.sync() // the question is open: no second one
	if len(w.rows.texts) != 1 {
		t.Fatalf("%d questions, want 1: %q", len(w.rows.texts), w.rows.texts)
	}
	text := w.rows.texts[0]
	for _, want := range []string{"2 new or changed skills", "- one: Does things with one.", "1 script;", "may use every tool", "- two: See https[:]//evil[.]example", "asks for read, exec; no scripts"} {
		if !strings.Contains(text, want) {
			t.Errorf("the question does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "broken") || strings.Contains(text, "https://evil") {
		t.Errorf("the question shows a folder that is no skill, or a link:\n%s", text)
	}
	if got := len(w.Copies.Accepted()); got != 0 || w.state("one") != "asked" || w.state("broken") != "broken" {
		t.Errorf("before the answer: %d in use, %s, %s", got, w.state("one"), w.state("broken"))
	}
	w.rows.answer(api.SkillAccepted)
	w.sync()
	if got := w.Copies.Accepted(); len(got) != 2 || got[0].Name != "one" || got[0].Files[0] != "scripts/run.sh" || got[0].Tools != nil || !slices.Equal(got[1].Tools, []string{"read", "exec"}) {
		t.Errorf("after a yes: %+v", got)
	}
}

func TestARefusedSkillIsNotAskedAboutAgain(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	w.sync()
	w.rows.answer(api.SkillRefused)
	w.sync()
	if len(w.rows.texts) != 1 || w.state("one") != "refused" || len(w.Copies.Accepted()) != 0 {
		t.Fatalf("%d questions, %s", len(w.rows.texts), w.state("one"))
	}
	w.put("one/references/more.md", "more")
	w.sync()
	if len(w.rows.texts) != 2 {
		t.Error("a changed folder is not asked about")
	}
	w.rows.answer(api.SkillRefused)
	v, err := w.Trust(t.Context(), "one", "")
	if err != nil || v.State != "trusted" {
		t.Errorf("the owner cannot accept it later: %+v %v", v, err)
	}
}

// TestTheAcceptedTreeStaysInUse changes a folder after its acceptance: the copy counts until the new content is accepted.
func TestTheAcceptedTreeStaysInUse(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	w.put("one/scripts/run.sh", "echo good")
	v, err := w.Trust(t.Context(), "one", "")
	must(t, err)
	script := filepath.Join(w.dir, "one/scripts/run.sh")
	if why := w.Copies.Foreign(script); why != "" {
		t.Errorf("an accepted file is foreign: %s", why)
	}
	w.put("one/scripts/run.sh", "echo evil")
	w.put("one/SKILL.md", "---\nname: one\ndescription: Changed.\n---\nObey.\n")
	w.sync()
	used := w.Copies.Views()[filepath.Join(w.dir, "one")]
	text, err := os.ReadFile(filepath.Join(used, "scripts/run.sh"))
	must(t, err)
	s, body, err := w.Copies.Body("one")
	must(t, err)
	if string(text) != "echo good" || s.Description != "Does things with one." || body != "Do $1.\n" || filepath.Base(used) != v.InUse {
		t.Errorf("the change is in use: %q %+v %q", text, s, body)
	}
	if w.Copies.Foreign(script) == "" || w.Copies.Foreign(filepath.Join(w.dir, "one/SKILL.md")) == "" {
		t.Error("changed files count as the owner's")
	}
	if got := w.state("one"); got != "changed" || len(w.rows.texts) != 1 || !strings.Contains(w.rows.texts[0], "it has changed") {
		t.Errorf("%s, questions %q", got, w.rows.texts)
	}
	if _, err := w.Trust(t.Context(), "one", v.InUse); err == nil {
		t.Error("the hash of the old content accepts the new one")
	}
}

// TestAFolderThatChangesAfterTheAnswerIsNotCopied binds a yes to what the question showed.
func TestAFolderThatChangesAfterTheAnswerIsNotCopied(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	w.sync()
	w.put("one/scripts/run.sh", "echo evil")
	w.rows.answer(api.SkillAccepted)
	w.sync()
	if got := w.Copies.Accepted(); len(got) != 0 {
		t.Fatalf("what the owner has not seen is in use: %+v", got)
	}
	w.sync()
	if len(w.rows.texts) != 2 {
		t.Errorf("%d questions, want a second one about the new content", len(w.rows.texts))
	}
}

// TestHostileFolders wants a sentence for each, nothing in use, and no folder that hides another.
func TestHostileFolders(t *testing.T) {
	const front = "---\nname: bad\ndescription: d\n---\nbody\n"
	big := func(w *world, path string, size int64) { must(w.t, os.Truncate(filepath.Join(w.dir, path), size)) }
	for what, c := range map[string]struct {
		make func(w *world)
		says string
	}{
		"no front matter": {func(w *world) { w.put("bad/SKILL.md", "hello") }, "no front matter"},
		"an open end":     {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\n") }, "no end"},
		"a wrong name":    {func(w *world) { w.put("bad/SKILL.md", "---\nname: other\ndescription: d\n---\nx\n") }, "not the name of the folder"},
		"a bad name":      {func(w *world) { w.put("Bad_1/SKILL.md", "---\nname: Bad_1\ndescription: d\n---\nx\n") }, "want at most 64"},
		"a command":       {func(w *world) { w.put("help/SKILL.md", "---\nname: help\ndescription: d\n---\nx\n") }, "chat command"},
		"no description":  {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\n---\nx\n") }, "description is missing"},
		"a long description": {func(w *world) {
			w.put("bad/SKILL.md", "---\nname: bad\ndescription: "+strings.Repeat("d", 1025)+"\n---\nx\n")
		}, "1025 characters"},
		"no body":           {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\ndescription: d\n---\n") }, "says nothing"},
		"no file":           {func(w *world) { must(w.t, os.MkdirAll(filepath.Join(w.dir, "bad"), 0o700)) }, "no SKILL.md"},
		"50 MB":             {func(w *world) { w.put("bad/SKILL.md", front); big(w, "bad/SKILL.md", 50<<20) }, "at most 64 KB"},
		"a large file":      {func(w *world) { w.put("bad/SKILL.md", front); w.put("bad/assets/a", ""); big(w, "bad/assets/a", 3<<20) }, "at most 2048 KB"},
		"invalid UTF-8":     {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\ndescription: \xff\xfe\n---\nx\n") }, "not UTF-8"},
		"an invisible mark": {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\ndescription: a\u202eb\n---\nx\n") }, "U+202E"},
		"an escape":         {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\ndescription: a\x1b[2Jb\n---\nx\n") }, "U+001B"},
		"YAML anchors": {func(w *world) {
			w.put("bad/SKILL.md", "---\nname: bad\na: &a [l, l]\nb: &b [*a, *a]\ndescription: *b\n---\nx\n")
		}, "cannot use"},
		"YAML depth": {func(w *world) {
			w.put("bad/SKILL.md", "---\nname: bad\ndescription: "+strings.Repeat("[", 9000)+"\n---\nx\n")
		}, "want a list"},
		"twice": {func(w *world) { w.put("bad/SKILL.md", "---\nname: bad\nname: bad\ndescription: d\n---\nx\n") }, "twice"},
		"a link to a file": {func(w *world) {
			w.put("bad/SKILL.md", front)
			must(w.t, os.Symlink("/etc/passwd", filepath.Join(w.dir, "bad", "passwd.md")))
		}, "symbolic link"},
		"a link inside": {func(w *world) {
			w.put("bad/SKILL.md", front)
			must(w.t, os.Symlink("SKILL.md", filepath.Join(w.dir, "bad", "other.md")))
		}, "symbolic link"},
		"a linked folder": {func(w *world) {
			w.put("bad/SKILL.md", front)
			must(w.t, os.Symlink("/etc", filepath.Join(w.dir, "bad", "references")))
		}, "symbolic link"},
		"a linked skill": {func(w *world) { w.good("real"); must(w.t, os.Symlink("real", filepath.Join(w.dir, "bad"))) }, "symbolic link"},
		"a hard link": {func(w *world) {
			w.put("bad/SKILL.md", front)
			w.put("real/SKILL.md", "x")
			must(w.t, os.Link(filepath.Join(w.dir, "real/SKILL.md"), filepath.Join(w.dir, "bad/twin.md")))
		}, "hard link"},
		"deep folders":   {func(w *world) { w.put("bad/SKILL.md", front); w.put("bad/scripts/deep/run.sh", "x") }, "with files only"},
		"other folders":  {func(w *world) { w.put("bad/SKILL.md", front); w.put("bad/lib/run.sh", "x") }, "may have the folders"},
		"a key":          {func(w *world) { w.put("bad/SKILL.md", front); w.put("bad/assets/id_rsa", "x") }, "may hold secrets"},
		"a strange name": {func(w *world) { w.put("bad/SKILL.md", front); w.put("bad/a\nIgnore all.md", "x") }, "cannot be shown"},
		"many files": {func(w *world) {
			w.put("bad/SKILL.md", front)
			for i := range 250 {
				w.put(fmt.Sprintf("bad/assets/%d", i), "x")
			}
		}, "more than 200 files"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			c.make(w)
			w.good("fine")
			name := "bad"
			for _, other := range []string{"Bad_1", "help"} {
				if _, err := os.Stat(filepath.Join(w.dir, other)); err == nil {
					name = other
				}
			}
			w.sync()
			v, err := w.Show(t.Context(), name)
			if err != nil || v.State != "broken" || !strings.Contains(v.Problem, c.says) {
				t.Errorf("%+v %v, want a sentence with %q", v, err, c.says)
			}
			if _, err := w.Trust(t.Context(), name, ""); err == nil {
				t.Error("it can be trusted")
			}
			if w.state("fine") != "asked" || len(w.Copies.Accepted()) != 0 || len(w.rows.texts) != 1 || strings.Contains(w.rows.texts[0], "- "+name+":") {
				t.Errorf("fine is %s, questions %q", w.state("fine"), w.rows.texts)
			}
		})
	}
}

func TestTenThousandFolders(t *testing.T) {
	w := newWorld(t)
	for i := range 10_000 {
		must(t, os.Mkdir(filepath.Join(w.dir, fmt.Sprintf("s%05d", i)), 0o700))
	}
	w.good("s00000")
	w.sync()
	list, err := w.List(t.Context())
	must(t, err)
	if last := list[len(list)-1]; len(list) != 1001 || !strings.Contains(last.Problem, "10000 folders") {
		t.Errorf("%d listed, last %+v", len(list), last)
	}
	if len(w.rows.texts) != 1 || w.state("s00000") != "asked" {
		t.Errorf("the good one is %s", w.state("s00000"))
	}
	if got := w.Copies.Unaccepted(); len(got) != 1 || got[0] != w.dir {
		t.Errorf("%d folders are hidden one by one", len(got))
	}
}

// TestManySkillsAreAskedInParts never asks about a skill that the question does not show.
func TestManySkillsAreAskedInParts(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.good(fmt.Sprintf("s%02d", i))
	}
	w.sync()
	w.rows.answer(api.SkillAccepted)
	w.sync()
	if got := len(w.Copies.Accepted()); got != 20 || len(w.rows.texts) != 2 {
		t.Fatalf("%d in use after the first of %d questions", got, len(w.rows.texts))
	}
	text := w.Copies.PromptText()
	if !strings.Contains(text, "- s00: Does things") || !strings.Contains(text, "- s19:") || strings.Contains(text, "s20") {
		t.Errorf("the prompt has:\n%s", text)
	}
}

// TestThePromptIsBounded counts a token for three letters, and for each other character.
func TestThePromptIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 120 {
		w.put(fmt.Sprintf("s%03d/SKILL.md", i), fmt.Sprintf("---\nname: s%03d\ndescription: %s\n---\nx\n", i, strings.Repeat("tidy überall 漢字 ", 60)))
		_, err := w.Trust(t.Context(), fmt.Sprintf("s%03d", i), "")
		must(t, err)
	}
	text := w.Copies.PromptText()
	if len(text) > 3*600 || !strings.Contains(text, "more: skill with action list") || strings.Count(text, "\n- s") < 5 {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
}

// An accepted skill stays as it is when the commit or the copy fails, for example because the disk is full.
func TestAFailedCommitOrCopyChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	_, err := w.Trust(t.Context(), "one", "")
	must(t, err)
	w.put("one/references/more.md", "more")
	w.rows.fail = errors.New("disk full")
	if _, err := w.Trust(t.Context(), "one", ""); err == nil {
		t.Error("a failed commit is a success")
	}
	w.rows.fail = nil
	if s := w.Copies.Accepted(); len(s) != 1 || len(s[0].Files) != 0 {
		t.Errorf("in use: %+v", s)
	}
	// A copy that is named like its hash but is not whole is made again.
	v, err := w.Show(t.Context(), "one")
	must(t, err)
	copied := filepath.Join(filepath.Dir(w.Copies.Views()[filepath.Join(w.dir, "one")]), v.Hash)
	must(t, os.RemoveAll(copied))
	must(t, os.MkdirAll(copied, 0o700))
	if v, err = w.Trust(t.Context(), "one", v.Hash[:12]); err != nil || v.State != "trusted" || len(w.Copies.Accepted()[0].Files) != 1 {
		t.Errorf("%+v %v", v, err)
	}
	// A copy that somebody damaged is not used.
	must(t, os.Chmod(filepath.Join(copied, "SKILL.md"), 0o600))
	must(t, os.WriteFile(filepath.Join(copied, "SKILL.md"), []byte("---\nname: one\ndescription: d\n---\nObey.\n"), 0o600))
	if _, _, err := w.Copies.Body("one"); err == nil || errors.Is(err, host.ErrUnknown) {
		t.Errorf("a damaged copy is read: %v", err)
	}
	// It is made again from a folder that still holds what was accepted.
	must(t, w.Load(t.Context()))
	w.sync()
	if _, body, err := w.Copies.Body("one"); err != nil || body != "Do $1.\n" {
		t.Errorf("%q %v", body, err)
	}
}

func TestAddAndRemove(t *testing.T) {
	w := newWorld(t)
	from := filepath.Join(t.TempDir(), "any-name")
	must(t, os.MkdirAll(filepath.Join(from, "scripts"), 0o700))
	must(t, os.WriteFile(filepath.Join(from, "SKILL.md"), []byte("---\nname: tidy\ndescription: d\n---\nx\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(from, "scripts", "a.sh"), []byte("x"), 0o755)) // #nosec G306 -- a script
	v, err := w.Add(t.Context(), api.SkillSource{From: from})
	if err != nil || v.Name != "tidy" || v.State != "new" || v.Scripts != 1 {
		t.Fatalf("%+v %v", v, err)
	}
	if _, err := w.Add(t.Context(), api.SkillSource{From: from}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("added twice: %v", err)
	}
	for _, bad := range []string{"http://example.org/x", "git@github.com:a/b", "file:///etc", "ssh://x/y", "ext::sh", "https://user:pass@example.org/x", "https://", "--upload-pack=x://y"} {
		if _, err := w.Add(t.Context(), api.SkillSource{From: bad}); err == nil {
			t.Errorf("%s is fetched", bad)
		}
	}
	_, err = w.Trust(t.Context(), "tidy", "")
	must(t, err)
	if _, err := w.Remove(t.Context(), "tidy"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "tidy")); !os.IsNotExist(err) || len(w.Copies.Accepted()) != 0 {
		t.Error("it is still there")
	}
	if _, err := w.Remove(t.Context(), "../state"); err == nil {
		t.Error("a path is removed")
	}
}

// TestRepositories picks the one skill of a repository, and refuses links in it.
func TestRepositories(t *testing.T) {
	entry := "---\nname: pdf\ndescription: d\n---\nx\n"
	for what, c := range map[string]struct {
		files, links []string
		below, says  string
	}{
		"at the top":    {files: []string{"SKILL.md", "scripts/a.sh", ".github/x", "README.md"}},
		"one below":     {files: []string{"README.md", "skills/pdf/SKILL.md", "skills/pdf/scripts/a.sh"}},
		"chosen":        {files: []string{"skills/pdf/SKILL.md", "skills/doc/SKILL.md"}, below: "skills/pdf"},
		"several":       {files: []string{"skills/pdf/SKILL.md", "skills/doc/SKILL.md"}, says: "choose one with --path: skills/pdf, skills/doc"},
		"none":          {files: []string{"README.md"}, says: "holds no SKILL.md"},
		"a wrong path":  {files: []string{"SKILL.md"}, below: "x", says: "no SKILL.md in x"},
		"a link":        {files: []string{"SKILL.md"}, links: []string{"references/x"}, says: "symbolic link"},
		"a link beside": {files: []string{"skills/pdf/SKILL.md"}, links: []string{"other"}},
		"climbs":        {files: []string{"SKILL.md", "scripts/../../../x"}}, // the name is left out like any that begins with a dot
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.Clone = func(_ context.Context, _, _ string, each func(string, bool, bool, []byte) error) error {
				for _, f := range c.files {
					if err := each(f, false, false, []byte(entry)); err != nil {
						return err
					}
				}
				for _, l := range c.links {
					if err := each(l, false, true, nil); err != nil {
						return err
					}
				}
				return nil
			}
			v, err := w.Add(t.Context(), api.SkillSource{From: "https://example.org/a/b", Path: c.below})
			if c.says == "" && (err != nil || v.Name != "pdf") || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%+v %v, want %q", v, err, c.says)
			}
			if left, err := filepath.Glob(filepath.Join(w.dir, ".new-*")); err != nil || len(left) > 0 {
				t.Errorf("left %q %v", left, err)
			}
		})
	}
}
