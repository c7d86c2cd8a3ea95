package memory

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"hob/daemon/sys"
)

// Limits of following the files.
const (
	settleTime  = time.Second // after a change, further ones are waited for
	patience    = 10 * time.Second
	mostFolders = 1000 // that are watched; with more, each search looks at the files itself
)

// Run reads what has changed since the last run, and then follows the files until ctx ends. Without it each search looks at the files, so that
// nothing is missed where the system cannot report changes.
func (x *Index) Run(ctx context.Context) error {
	defer x.watching.Store(false)
	err := x.o.Folders.Follow(ctx, sys.Following{
		Watch: func(add func(string) error) error { watch(x, add); return nil },
		Concerns: func(e fsnotify.Event) bool {
			if !concerns(x.o.Guard().Workspace(), e) {
				return false
			}
			x.dirty.Store(true)
			return true
		},
		Lost: func(err error) {
			x.o.Log.Warn("changes of memory files were lost", "err", err)
			x.dirty.Store(true)
		},
		Read: func(context.Context) (bool, error) {
			x.begin()
			return false, nil
		},
		Settle: settleTime, Patience: patience,
	})
	if err == nil {
		return nil
	}
	x.watching.Store(false)
	x.o.Log.Warn("changes of memory files are not reported, so each search looks for them", "err", err)
	x.begin()
	<-ctx.Done()
	return nil
}

// concerns reports whether an event may change the memory: a note, a folder, or MEMORY.md.
func concerns(space string, e fsnotify.Event) bool {
	if filepath.Dir(e.Name) == space {
		name := filepath.Base(e.Name)
		return e.Op != fsnotify.Chmod && (name == MainFile || name == noteFolder)
	}
	name := filepath.Base(e.Name)
	return e.Op != fsnotify.Chmod && !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, noteEnding) || filepath.Ext(name) == "")
}

// watch watches the workspace and the folders of the notes.
func watch(x *Index, add func(folder string) error) {
	g := x.o.Guard()
	folders := []string{g.Workspace()}
	if p, err := g.Resolve(g.Workspace(), noteFolder); err == nil && p.IsDir() && ours(p) {
		err := filepath.WalkDir(p.Path, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !e.IsDir():
			case path != p.Path && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case len(folders) > mostFolders:
				return fs.SkipAll
			default:
				folders = append(folders, path)
			}
			return nil
		})
		if err != nil {
			x.o.Log.Warn("list the folders of the memory", "err", err)
		}
	}
	all := len(folders) <= mostFolders
	for _, f := range folders {
		if err := add(f); err != nil {
			x.o.Log.Info("a memory folder cannot be watched, so each search looks for changes", "folder", f, "err", err)
			all = false
			break
		}
	}
	x.watching.Store(all)
}
