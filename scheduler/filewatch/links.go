package filewatch

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
)

// A symbolic link to a file has the content of that file, and the folder that a link leads to is scanned under the name of the link, as long as they are
// inside the roots: the folders of the watch, the workspace and the configured roots. Kubernetes and deployments replace a link to publish other files.
//
// The notifier gets real paths. No folder is scanned under two names, so a loop of links ends at its first link.

// Limits of a watch.
const (
	maxLinkedFolders = 100
	maxLinkTargets   = 1000 // folders elsewhere that tell that a target has changed; for the rest, the links are looked at every 30 s
	maxRefusedLinks  = 100  // links that are counted
)

// links are the followed links of a watch, and those that are not followed. The workers of a survey share it, under the lock of the survey.
type links struct {
	found   map[string]string              // links to folders that the last scans found, with the real folder
	folders map[string]string              // those of them that are followed
	targets map[string]map[string]struct{} // a folder that holds a target or a further link, with the folders of the links that depend on it
	refused map[string]string              // links out of the roots, with their target
	dirs    map[string]struct{}            // folders with links
}

// NotFollowed begins the trouble about a link that is not followed. The owner finds it in the details of the watch and gets no notice.
const NotFollowed = "a link is not followed: "

func newLinks() links {
	return links{map[string]string{}, map[string]string{}, map[string]map[string]struct{}{}, map[string]string{}, map[string]struct{}{}}
}

// refusal is the trouble of the links that are not followed, "" for none.
func (l *links) refusal() string {
	if len(l.refused) == 0 {
		return ""
	}
	path := slices.Min(slices.Collect(maps.Keys(l.refused)))
	return fmt.Sprintf("%s%s leads to %s, which is outside of the watched folders, the workspace and the roots (%s in all)", NotFollowed, quoted(path), quoted(l.refused[path]),
		count(len(l.refused), "link"))
}

// inside reports whether the content of a place counts as the content of the link that leads to it.
func (s scope) inside(place fsguard.Place) bool {
	switch place.Area {
	case fsguard.State, "": // "": a loop
		return false
	case fsguard.Outside, fsguard.Sensitive:
		return slices.ContainsFunc(s.entries, func(e entry) bool { return below(e.path, place.Path) })
	}
	return true
}

// follow resolves a link. ok means that its target exists and counts.
func (r reader) follow(s scope, path string) (place fsguard.Place, ok bool) {
	place, err := r.guard.Resolve("", path)
	return place, err == nil && place.Exists() && (place.IsDir() || place.Info.Mode().IsRegular()) && s.inside(place)
}

// link notes a link of a folder. It returns its stat, or that of the file to which it leads, and the folders to watch for it.
func (s *survey) link(dir, name string, info fs.FileInfo) (stat, []string) {
	path := join(dir, name)
	place, ok := s.w.writer.follow(s.t.scope, path)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.t.links
	l.dirs[dir] = struct{}{}
	switch {
	case !s.t.scope.inside(place): // also one that has no target yet
		if place.Exists() && len(l.refused) < maxRefusedLinks {
			l.refused[path] = place.Path
		}
		return statOf(info), nil
	case place.IsDir() && s.t.scope.holds(place.Path):
		return statOf(info), nil // it is scanned under its own name
	case ok && place.IsDir():
		l.found[path] = place.Path
	case ok:
		info = place.Info
	}
	cover := append(place.Via, filepath.Dir(place.Path))
	for _, at := range cover {
		if l.targets[at] == nil && len(l.targets) < maxLinkTargets {
			l.targets[at] = map[string]struct{}{}
		}
		if from := l.targets[at]; from != nil {
			from[dir] = struct{}{}
		}
	}
	return statOf(info), cover
}

// forget drops what is known about the links of a folder, before it is scanned again.
func (l *links) forget(dir string) {
	if _, has := l.dirs[dir]; !has {
		return
	}
	delete(l.dirs, dir)
	here := func(path, _ string) bool { return filepath.Dir(path) == dir }
	maps.DeleteFunc(l.found, here)
	maps.DeleteFunc(l.refused, here)
	for _, from := range l.targets {
		delete(from, dir)
	}
}

// real returns the path of a folder without the links that the watch follows.
func (t *tracked) real(path string) string {
	link := ""
	for from := range t.links.folders {
		if (from == path || below(from, path)) && len(from) > len(link) {
			link = from
		}
	}
	if link == "" {
		return path
	}
	return t.links.folders[link] + path[len(link):]
}

// names returns the folders of the watch that a real folder is.
func (t *tracked) names(real string) (list []string) {
	if t.tree.live(real) {
		list = append(list, real)
	}
	for from, to := range t.links.folders {
		if name := from + strings.TrimPrefix(real, to); (real == to || below(to, real)) && t.tree.live(name) {
			list = append(list, name)
		}
	}
	return list
}

// followLinks scans the folders to which links lead that the last scan has found, and drops those that no longer exist.
func (w *Watcher) followLinks(ctx context.Context, t *tracked) {
	l := &t.links
	for {
		for _, path := range slices.Sorted(maps.Keys(l.folders)) {
			if to := l.folders[path]; l.found[path] != to || !t.tree.live(path) {
				w.vanish(t, path)
				delete(l.folders, path)
				w.release(to)
			}
		}
		next := slices.Sorted(maps.Keys(l.found))
		next = slices.DeleteFunc(next, func(path string) bool { return !t.follows(path, l.found[path]) })
		if len(next) == 0 || len(l.folders) >= maxLinkedFolders || ctx.Err() != nil {
			break
		}
		path := next[0]
		l.folders[path] = l.found[path]
		parent := t.tree.folder(filepath.Dir(path))
		parent.hold(slices.Sorted(slices.Values(append(slices.Clone(parent.subs()), path))))
		if w.survey(ctx, t, path, true) != nil || !t.tree.live(path) {
			delete(l.found, path) // it is found again by the next scan
		}
	}
	for at, from := range l.targets {
		maps.DeleteFunc(from, func(dir string, _ struct{}) bool { return !t.tree.live(dir) })
		if len(from) == 0 {
			delete(l.targets, at)
			w.release(at)
		}
	}
}

// follows reports whether a link to a folder is to be followed: nothing in the folder may be scanned under another name, and the link may not be in it.
func (t *tracked) follows(path, to string) bool {
	above := func(other string) bool { return other == to || below(to, other) }
	return !above(t.real(filepath.Dir(path))) && !slices.ContainsFunc(t.scope.entries, func(e entry) bool { return above(e.path) }) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(t.links.folders)), func(other string) bool { return above(other) || below(other, to) })
}

// release stops watching a real folder that no watch needs.
func (w *Watcher) release(real string) {
	if w.sensor == nil {
		return
	}
	for _, t := range w.list {
		if len(t.links.targets[real]) > 0 || len(t.names(real)) > 0 {
			return
		}
	}
	// The watch may already have ended with the folder.
	_ = w.sensor.Remove(real)
}
