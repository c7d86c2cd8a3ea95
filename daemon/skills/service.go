// Package skills keeps the owner's skills (https://agentskills.io): folders with instructions and scripts in the workspace. A folder counts
// only after the owner has accepted exactly what it holds. Then a copy is kept in hob's own state, under its hash, and only that copy is
// ever used: hob reads it, and sandboxes show it in place of the folder. A folder that changes is asked about again; until then the copy
// stays in use.
//
// The flow: Watcher notices changed folders and calls Sync, which reads them (tree.go, parse.go) and opens one question for all that are
// new. The answer marks rows as accepted, and the next Sync copies their folders, if they still hold what the question was about.
//
// The package runs nothing, and believes no folder.
package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// maxFolders limits the folders that are looked at, in the order of their names.
const maxFolders = 1_000

// Rows stores the decisions.
type Rows interface {
	// Skills lists all rows.
	Skills(ctx context.Context) ([]api.SkillRow, error)
	// AskSkills opens one question about rows, unless one is open already.
	AskSkills(ctx context.Context, text string, rows []api.SkillRow) error
	// TrustSkill puts a copy in use, in place of an earlier one with the name. It closes a question that has nothing left to ask.
	TrustSkill(ctx context.Context, name, hash string) error
	// ForgetSkill removes the rows of a name; with a hash, only the row that was accepted and could not be copied.
	ForgetSkill(ctx context.Context, name, hash string) error
}

// Service knows the folders of the skills and changes what is in use. It is safe for concurrent use.
type Service struct {
	Copies   *Copies
	Rows     Rows
	Reserved []string     // names of chat commands, without the slash
	Known    []string     // names of hob's own tools
	Clone    Clone        // fetches repositories; nil: none can be fetched
	Folders  *sys.Folders // reports changes of the files to Run
	Log      *slog.Logger

	changing sync.Mutex // held while rows and copies change
}

// look reads one folder. The problem is a sentence for the owner, "" for a good skill.
func (s *Service) look(name string) (api.Skill, tree, head) {
	v := api.Skill{Name: short(name, maxName)}
	dir, err := s.Copies.folder()
	var t tree
	if err == nil {
		t, err = readTree(s.Copies.Guard(), filepath.Join(dir, name))
	}
	if err != nil {
		v.Problem = err.Error()
		return v, t, head{}
	}
	h, err := s.check(name, t)
	v.Hash, v.Description, v.License, v.Compatibility, v.Tools = t.hash, h.Description, h.License, h.Compatibility, h.Tools
	v.Unknown, v.Files, v.Scripts, v.Bytes = s.unknown(h.Tools), t.others(), t.scripts(), t.bytes()
	if err != nil {
		v.Problem = err.Error()
	}
	return v, t, h
}

// check says whether a tree is a good skill of a name.
func (s *Service) check(name string, t tree) (head, error) {
	text, err := t.text()
	if err != nil {
		return head{}, err
	}
	h, _, err := parse(name, text)
	if err == nil && slices.Contains(s.Reserved, name) {
		err = fmt.Errorf("/%s is a chat command: choose another name for the folder and the skill", name)
	}
	return h, err
}

// unknown returns the names that are no tool of hob. A skill that was made for another agent may have some, so they are no fault. What a
// server of MCP offers is not known before it runs.
func (s *Service) unknown(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(s.Known, n) || strings.Contains(n, "__") })
}

// List lists all skills: those in use and the folders, by name.
func (s *Service) List(ctx context.Context) ([]api.Skill, error) {
	rows, err := s.Rows.Skills(ctx)
	if err != nil {
		return nil, err
	}
	names, problem, err := s.Copies.names()
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.State == api.SkillTrusted && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	list := []api.Skill{}
	for _, name := range names {
		v := s.view(name, rows)
		v.Text = "" // Show has it
		list = append(list, v)
	}
	if problem != "" {
		list = append(list, api.Skill{Name: "(more)", State: "broken", Problem: problem})
	}
	return list, nil
}

// Show returns one skill.
func (s *Service) Show(ctx context.Context, name string) (api.Skill, error) {
	rows, err := s.Rows.Skills(ctx)
	if err != nil {
		return api.Skill{}, err
	}
	names, _, err := s.Copies.names()
	if err != nil {
		return api.Skill{}, err
	}
	if !slices.Contains(names, name) && !slices.ContainsFunc(rows, func(r api.SkillRow) bool { return r.Name == name && r.State == api.SkillTrusted }) {
		return api.Skill{}, unknown(name)
	}
	return s.view(name, rows), nil
}

func unknown(name string) error {
	return event.NewFault(event.Missing, "hob skills list shows what there is", "there is no skill %q", short(name, maxName))
}

// view reads a folder and says what the rows know of it.
func (s *Service) view(name string, rows []api.SkillRow) api.Skill {
	v, t, _ := s.look(name)
	v.State = "new"
	decided := api.SkillState("")
	for _, r := range rows {
		switch {
		case r.Name != name:
		case r.State == api.SkillTrusted:
			v.InUse = r.Hash
		case r.Hash == v.Hash:
			decided = r.State
		}
	}
	switch {
	case v.InUse != "" && v.Hash == "": // its folder is gone, or cannot be read
		v.State = "changed"
		if have, err := readPinned(filepath.Join(s.Copies.Dir, v.InUse)); err == nil {
			t = have
			text, _ := have.text()
			h, _, _ := parse(name, text) // it was good when it was accepted
			v.Description, v.Tools, v.Unknown, v.Files, v.Scripts = h.Description, h.Tools, s.unknown(h.Tools), have.others(), have.scripts()
		}
		v.Problem += "; the accepted copy stays in use"
	case v.InUse != "" && v.InUse == v.Hash:
		v.State = "trusted"
	case v.InUse != "":
		v.State = "changed"
	case v.Problem != "":
		v.State = "broken"
	case decided == api.SkillAsked || decided == api.SkillRefused:
		v.State = string(decided)
	}
	text, _ := t.text() // a folder without it is broken, and its problem says so
	v.Text = string(text)
	return v
}

// Trust accepts what a folder holds now, and puts a copy in use. hash binds the decision to what was looked at: the first digits of the
// hash that List shows; "": whatever is there.
func (s *Service) Trust(ctx context.Context, name, hash string) (api.Skill, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if _, err := s.Show(ctx, name); err != nil {
		return api.Skill{}, err
	}
	v, t, _ := s.look(name)
	switch {
	case v.Problem != "":
		return v, event.NewFault(event.Invalid, "hob skills check "+v.Name+" says what to change", "the skill %s cannot be trusted: %s", v.Name, strings.ReplaceAll(v.Problem, "\n", "; "))
	case hash != "" && (len(hash) < 8 || !strings.HasPrefix(t.hash, strings.ToLower(hash))):
		return v, event.NewFault(event.Clash, "look at it again: hob skills show "+v.Name, "the folder of %s does not have the hash %s now", v.Name, short(hash, 64))
	}
	if err := s.pin(ctx, name, t); err != nil {
		return v, err
	}
	return s.Show(ctx, name)
}

// pin copies a tree and puts the copy in use. The copy is complete before any row names it.
func (s *Service) pin(ctx context.Context, name string, t tree) error {
	if _, err := t.save(s.Copies.Dir); err != nil {
		return &event.Fault{Kind: event.Unavailable, Text: "the copy of the skill " + name + " cannot be written: " + err.Error(), Hint: "nothing has changed; look at the disk, then try again", Err: err}
	}
	fail.Point("skill.pinned")
	err := s.Rows.TrustSkill(ctx, name, t.hash)
	fail.Point("skill.trusted")
	return errors.Join(err, s.Load(ctx))
}

// Remove ends the use of a skill and deletes its folder.
func (s *Service) Remove(ctx context.Context, name string) (v api.Skill, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	v, err = s.Show(ctx, name)
	if err != nil {
		return v, err
	}
	// The row goes first: a folder that cannot be deleted is then a folder that nobody trusts.
	if err := errors.Join(s.Rows.ForgetSkill(ctx, name, ""), s.Load(ctx)); err != nil {
		return v, err
	}
	dir, err := s.Copies.folder()
	if err != nil {
		return v, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	// The folder loses its name at once: a kill leaves no half of a skill. The next start deletes what is left (see sweep).
	old := ".old-" + name + ".tmp"
	if err := root.RemoveAll(old); err != nil {
		return v, err
	}
	switch err := root.Rename(name, old); {
	case errors.Is(err, fs.ErrNotExist):
		return v, nil
	case err != nil:
		return v, err
	}
	fail.Point("skill.removed")
	return v, root.RemoveAll(old)
}

// Load reads the copies of the skills that the owner has accepted. It is called before anything uses the service, and after each change.
func (s *Service) Load(ctx context.Context) error {
	rows, err := s.Rows.Skills(ctx)
	if err != nil {
		return err
	}
	list := []trusted{}
	for _, r := range rows {
		if r.State != api.SkillTrusted {
			continue
		}
		one, err := s.Copies.load(r)
		if err != nil {
			// A copy that was lost, for example with its disk, must not stop a turn: the skill is not there.
			s.Log.Warn("the copy of a skill cannot be used", "skill", r.Name, "err", err)
			continue
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b trusted) int { return cmp.Compare(a.skill.Name, b.skill.Name) })
	s.Copies.mu.Lock()
	defer s.Copies.mu.Unlock()
	s.Copies.loaded = list
	return nil
}

// others lists the files besides SKILL.md.
func (t tree) others() (list []string) {
	for _, f := range t.files {
		if f.path != skillFile {
			list = append(list, f.path)
		}
	}
	return list
}

// scripts counts the files that can run.
func (t tree) scripts() (n int) {
	for _, f := range t.files {
		if f.runs() {
			n++
		}
	}
	return n
}

// runs reports whether a file is made to run: by its folder, its executable bit, its first line or the end of its name. The bit alone
// does not say it, because "sh FILE" runs a file without it, and Windows has none.
func (f file) runs() bool {
	endings := []string{".bash", ".bat", ".cjs", ".cmd", ".js", ".mjs", ".pl", ".ps1", ".py", ".rb", ".sh", ".ts", ".zsh"}
	return strings.HasPrefix(f.path, "scripts/") || f.exec || strings.HasPrefix(string(f.data), "#!") ||
		slices.Contains(endings, strings.ToLower(path.Ext(f.path)))
}

func (t tree) bytes() (n int) {
	for _, f := range t.files {
		n += len(f.data)
	}
	return n
}
