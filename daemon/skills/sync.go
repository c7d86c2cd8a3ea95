package skills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/netguard"
	"hob/daemon/sys"
)

// Limits of one question.
const (
	maxAsked     = 20  // skills in one question; the others come with the next
	askedExcerpt = 200 // characters of a description
)

// Sync brings the rows and the folders together: it copies what was accepted, and asks about what is new.
func (s *Service) Sync(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	rows, err := s.Rows.Skills(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		// A copy that was lost is made again if the folder still holds exactly what the owner accepted: after a restore on a new machine.
		lost := r.State == api.SkillTrusted && !slices.ContainsFunc(s.Copies.inUse(), func(one trusted) bool { return one.hash == r.Hash })
		if r.State == api.SkillAccepted || lost {
			if err := s.settle(ctx, r); err != nil {
				return err
			}
		}
	}
	names, problem, err := s.Copies.names()
	if err != nil {
		return err
	}
	if problem != "" {
		s.Log.Warn("skills", "problem", problem)
	}
	var fresh []api.Skill
	for _, name := range names {
		v, _, _ := s.look(name)
		if v.Problem == "" && !slices.ContainsFunc(rows, func(r api.SkillRow) bool { return r.Name == name && r.Hash == v.Hash }) {
			fresh = append(fresh, v)
		}
	}
	if len(fresh) == 0 || slices.ContainsFunc(rows, func(r api.SkillRow) bool { return r.State == api.SkillAsked }) {
		return nil
	}
	fresh = fresh[:min(len(fresh), maxAsked)]
	asked := make([]api.SkillRow, len(fresh))
	for i, v := range fresh {
		asked[i] = api.SkillRow{Name: v.Name, Hash: v.Hash}
	}
	fail.Point("skill.found")
	err = s.Rows.AskSkills(ctx, question(fresh, rows), asked)
	fail.Point("skill.asked")
	return err
}

// settle copies an accepted folder. If it no longer holds what the owner accepted, the row goes, and the folder is new again.
func (s *Service) settle(ctx context.Context, r api.SkillRow) error {
	fail.Point("skill.accepted")
	v, t, _ := s.look(r.Name)
	if v.Problem != "" || t.hash != r.Hash {
		s.Log.Warn("a skill changed before it was copied, so it is asked about again", "skill", r.Name)
		return s.Rows.ForgetSkill(ctx, r.Name, r.Hash)
	}
	return s.pin(ctx, r.Name, t)
}

// question words the one question about new folders. What the folders say is shown as text of others: on one line, without links.
func question(list []api.Skill, rows []api.SkillRow) string {
	var b strings.Builder
	b.WriteString("There is a new or changed skill in the workspace. Do you trust what it says and runs?")
	if len(list) > 1 {
		b.Reset()
		fmt.Fprintf(&b, "There are %d new or changed skills in the workspace. Do you trust what they say and run?", len(list))
	}
	for _, v := range list {
		fmt.Fprintf(&b, "\n- %s: %s", v.Name, netguard.Defang(short(v.Description, askedExcerpt)))
		may := "asks for no tools"
		switch {
		case v.Tools == nil:
			may = "may use every tool that you allow"
		case len(v.Tools) > 0:
			may = "asks for " + netguard.Defang(strings.Join(v.Tools, ", "))
		}
		fmt.Fprintf(&b, "\n  %s; %s; hash %s", may, scripts(v.Scripts), v.Hash[:12])
		if slices.ContainsFunc(rows, func(r api.SkillRow) bool { return r.Name == v.Name && r.State == api.SkillTrusted }) {
			b.WriteString("; it has changed: the copy that you accepted before stays in use until you say yes")
		}
	}
	b.WriteString("\nhob skills show NAME tells more. A skill gives no rights: what it does is asked as always.")
	return b.String()
}

func scripts(n int) string {
	switch n {
	case 0:
		return "no scripts"
	case 1:
		return "1 script"
	}
	return fmt.Sprintf("%d scripts", n)
}

// sweep removes the copies that no row names. It runs at the start only, since a command that runs may still use an old copy.
func (s *Service) sweep(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if dir, err := s.Copies.folder(); err == nil { // what a killed Add or Remove has left
		left, _ := filepath.Glob(filepath.Join(dir, ".*-*.tmp")) // the pattern is well formed
		for _, path := range left {
			if err := remove(path); err != nil {
				return err
			}
		}
	}
	entries, err := os.ReadDir(s.Copies.Dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := s.Rows.Skills(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.ContainsFunc(rows, func(r api.SkillRow) bool { return r.State == api.SkillTrusted && r.Hash == e.Name() }) {
			err = errors.Join(err, remove(filepath.Join(s.Copies.Dir, e.Name())))
		}
	}
	return err
}

// Folders are read when they have been quiet for settleTime, or after patience at the latest.
const (
	settleTime = time.Second
	patience   = 10 * time.Second
)

// Run follows the folders until ctx ends. answered returns a channel that is closed when a question was answered.
func (s *Service) Run(ctx context.Context, answered func() <-chan struct{}) error {
	if err := s.sweep(ctx); err != nil {
		s.Log.Warn("old copies of skills stay", "err", err)
	}
	err := s.Folders.Follow(ctx, sys.Following{
		Watch:    func(add func(string) error) error { s.watch(add); return nil },
		Concerns: func(e fsnotify.Event) bool { return s.concerns(e.Name) },
		Lost:     func(err error) { s.Log.Warn("watching the skills failed; reading them again", "err", err) },
		Read: func(ctx context.Context) (bool, error) {
			err := s.Sync(ctx)
			if _, known := event.AsFault(err); err == nil || ctx.Err() != nil || !known {
				return false, err
			}
			s.Log.Warn("skills", slog.Any("err", err))
			return false, nil
		},
		Settle: settleTime, Patience: patience, Now: answered,
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow the skills: %w", err)
	}
	return nil
}

// concerns reports whether a change is about skills: the workspace itself is watched only for the folder of the skills.
func (s *Service) concerns(path string) bool {
	dir, err := s.Copies.folder()
	return err != nil || path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// maxWatched limits the folders that are watched for changes; the others are read when something else changes.
const maxWatched = 400

// watch adds the folders that exist: the workspace, the skills, and the folders inside. A folder that cannot be watched is read at the
// next occasion.
func (s *Service) watch(add func(folder string) error) {
	dir, err := s.Copies.folder()
	if err != nil {
		return
	}
	list := []string{filepath.Dir(dir)}
	names, _, err := s.Copies.names()
	if err == nil && (len(names) > 0 || isFolder(dir)) {
		list = append(list, dir)
	}
	for _, name := range names {
		for _, sub := range append([]string{""}, subfolders()...) {
			if path := filepath.Join(dir, name, sub); isFolder(path) && len(list) < maxWatched {
				list = append(list, path)
			}
		}
	}
	for _, path := range list {
		if err := add(path); err != nil {
			s.Log.Debug("a folder of skills is not watched", "path", path, "err", err)
		}
	}
}

// isFolder follows no link.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
