package filewatch_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hob/scheduler/filewatch"
)

// globbed makes a watch on a pattern.
func (w *watchedHome) globbed(pattern string) filewatch.Watch {
	return w.watch(func(o *filewatch.Watch) { o.Paths = []string{w.dir + "/" + pattern} })
}

// inputs.md, 13.1, and the ways in which programs publish files behind links.
func TestLinksAreFollowedInsideTheRoots(t *testing.T) {
	for _, tc := range []struct {
		from, pattern, before, after string
		want                         []string
	}{
		{
			"13.1, Kubernetes: a ConfigMap is replaced", "*.md", "mkdir ..d1; echo one > ..d1/cm.md; ln -s ..d1 ..data; ln -s ..data/cm.md cm.md",
			"mkdir ..d2; echo two2 > ..d2/cm.md; ln -sfn ..d2 ..data; rm -r ..d1",
			[]string{"changed cm.md, 5 bytes"},
		},
		{
			"Kubernetes: a key is added", "*.md", "mkdir ..d1; echo one > ..d1/cm.md; ln -s ..d1 ..data; ln -s ..data/cm.md cm.md",
			"mkdir ..d2; echo one > ..d2/cm.md; echo new > ..d2/b.md; ln -sfn ..d2 ..data; ln -s ..data/b.md b.md",
			[]string{"created b.md, 4 bytes"},
		},
		{
			"git-sync: the folder of a work tree is a link", "*/*.md", "mkdir -p .worktrees/a; echo one > .worktrees/a/x.md; ln -s .worktrees/a repo",
			"mkdir -p .worktrees/b; echo two2 > .worktrees/b/x.md; ln -sfn .worktrees/b repo",
			[]string{"changed repo/x.md, 5 bytes"},
		},
		{
			"Capistrano: current leads to a release in the workspace", "*/*.md", "mkdir -p ../.hob/workspace/r/1 ../.hob/workspace/r/2; echo one > ../.hob/workspace/r/1/x.md; echo two2 > ../.hob/workspace/r/2/x.md; ln -s ../.hob/workspace/r/1 current",
			"ln -sfn ../.hob/workspace/r/2 current",
			[]string{"changed current/x.md, 5 bytes"},
		},
		{
			"stow: the file that a link leads to is edited in place", "*.md", "mkdir ../.hob/workspace/pkg; echo one > ../.hob/workspace/pkg/x.md; ln -s ../.hob/workspace/pkg/x.md x.md",
			"echo two2 > ../.hob/workspace/pkg/x.md",
			[]string{"changed x.md, 5 bytes"},
		},
		{
			"Nix: the link in the middle of the way is elsewhere", "*.md", "mkdir -p ../.hob/workspace/g/1 ../.hob/workspace/g/2; echo one > ../.hob/workspace/g/1/x.md; echo two2 > ../.hob/workspace/g/2/x.md; ln -s 1 ../.hob/workspace/g/now; ln -s ../.hob/workspace/g/now/x.md x.md",
			"ln -sfn 2 ../.hob/workspace/g/now",
			[]string{"changed x.md, 5 bytes"},
		},
		{
			"an editor replaces the target", "*.md", "mkdir ../.hob/workspace/pkg; echo one > ../.hob/workspace/pkg/x.md; ln -s ../.hob/workspace/pkg/x.md x.md",
			"echo two2 > ../.hob/workspace/pkg/y; mv ../.hob/workspace/pkg/y ../.hob/workspace/pkg/x.md",
			[]string{"changed x.md, 5 bytes"},
		},
		{
			"a file below a linked folder", "**/*.md", "mkdir -p ../.hob/workspace/docs/sub; ln -s ../.hob/workspace/docs docs",
			"echo one > ../.hob/workspace/docs/sub/x.md",
			[]string{"created docs/sub/x.md, 4 bytes"},
		},
		{
			"a folder that is made below a linked folder", "**/*.md", "mkdir ../.hob/workspace/docs; ln -s ../.hob/workspace/docs docs",
			"mkdir -p ../.hob/workspace/docs/new; echo one > ../.hob/workspace/docs/new/x.md",
			[]string{"created docs/new/x.md, 4 bytes"},
		},
		{
			"the link to a folder goes", "**/*.md", "mkdir ../.hob/workspace/docs; echo one > ../.hob/workspace/docs/x.md; ln -s ../.hob/workspace/docs docs",
			"rm docs",
			[]string{"removed docs/x.md"},
		},
		{
			"a target that comes later", "**/*.md", "mkdir ../.hob/workspace/docs; ln -s ../.hob/workspace/docs/x.md x.md",
			"echo one > ../.hob/workspace/docs/x.md",
			[]string{"changed x.md, 4 bytes"},
		},
		// Guards.
		{
			"another link to the same text is no change", "*.md", "mkdir ..d1 ..d2; echo one > ..d1/x.md; echo one > ..d2/x.md; ln -s ..d1/x.md x.md",
			"ln -sfn ..d2/x.md x.md; echo > z.md",
			[]string{"created z.md, 1 byte"},
		},
		{
			"a loop of links, and a link to the folder itself", "**/*.md", "ln -s . self; ln -s b a; ln -s a b; mkdir sub; ln -s .. sub/up; ln -s ../../watched sub/again; ln -s x.md x.md",
			"echo one > sub/z.md",
			[]string{"created sub/z.md, 4 bytes"},
		},
		{
			"two links to one folder are one", "**/*.md", "mkdir ../.hob/workspace/docs; ln -s ../.hob/workspace/docs a; ln -s ../.hob/workspace/docs b",
			"echo one > ../.hob/workspace/docs/x.md",
			[]string{"created a/x.md, 4 bytes"},
		},
		{
			"a link within the linked folder that leads back", "**/*.md", "mkdir -p ../.hob/workspace/docs/sub; ln -s ../.hob/workspace/docs docs; ln -s .. ../.hob/workspace/docs/sub/up; ln -s ../../../../watched ../.hob/workspace/docs/sub/w",
			"echo one > ../.hob/workspace/docs/sub/x.md",
			[]string{"created docs/sub/x.md, 4 bytes"},
		},
		{
			"a link to a folder of the watch is not scanned twice", "**/*.md", "mkdir real; ln -s real link",
			"echo one > real/x.md",
			[]string{"created real/x.md, 4 bytes"},
		},
		{
			"hob's own state is no target", "**/*.md", "echo s > ../.hob/state/x.md; ln -s ../.hob/state/x.md x.md; ln -s ../.hob/state s",
			"echo t > ../.hob/state/x.md; echo > z.md",
			[]string{"created z.md, 1 byte"},
		},
	} {
		t.Run(tc.from, func(t *testing.T) {
			w := newWatchedHome(t)
			w.sh(tc.before)
			w.globbed(tc.pattern)
			w.begin()
			w.sh(tc.after)
			w.tells(tc.want...)
			seen := func(name string) func() bool {
				return func() bool {
					return slices.ContainsFunc(w.lines(), func(l string) bool { return strings.Contains(l, name) })
				}
			}
			w.sh("mkdir -p m; echo > marker-1.md; echo > m/marker-1.md")
			w.until("the marker", seen("marker-1"))
			w.end()
			w.begin() // the snapshot is what stands there: nothing more is told
			w.sh("echo > marker-2.md; echo > m/marker-2.md")
			w.until("the marker", seen("marker-2"))
			if got := w.quiet(); !slices.Equal(got, tc.want) {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
}

// A target outside the roots is not watched, and the details of the watch say so. Keys are not followed either.
func TestALinkOutOfTheRootsIsNotFollowed(t *testing.T) {
	w := newWatchedHome(t)
	w.sh("mkdir -p ../away/sub ../.ssh; echo one > ../away/x.md; echo key > ../.ssh/id.md; ln -s ../away/x.md x.md; ln -s ../away d; ln -s ../.ssh/id.md key.md")
	one := w.globbed("**/*.md")
	w.begin()
	told := func() bool { return len(w.troubles(one.ID)) > 0 }
	w.until("the trouble", told)
	text := w.troubles(one.ID)[0]
	if !strings.HasPrefix(text, filewatch.NotFollowed) || !strings.Contains(text, w.home+"/away") || !strings.Contains(text, "(3 links in all)") {
		t.Errorf("trouble %q", text)
	}
	w.sh("echo two > ../away/x.md; echo two > ../away/sub/y.md; echo other > ../.ssh/id.md; echo > z.md")
	w.tells("created z.md, 1 byte")
	w.sh("rm d x.md key.md")
	w.until("the end of the trouble", func() bool { all := w.store.Troubles(one.ID); return all[len(all)-1] == "" })
}

// More links than a watch follows are bounded, and the rest is still seen.
func TestManyLinks(t *testing.T) {
	w := newWatchedHome(t)
	w.sh(`for i in $(seq 300); do mkdir -p ../.hob/workspace/d$i; ln -s ../.hob/workspace/d$i l$i; ln -s ../.hob/workspace/d$i/x.md f$i.md; done`)
	w.globbed("**/*.md")
	w.begin()
	must(t, os.WriteFile(w.dir+"/z.md", []byte("x"), 0o600))
	w.tells("created z.md, 1 byte")
}
