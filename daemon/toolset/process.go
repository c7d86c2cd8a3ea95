// This file covers what the tools start and leave outside the database: processes of hob's own, background commands and their remains after a crash.

package toolset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/tools/all"
	"hob/tools/runtime"
)

// RunHelper serves a process that a tool has started from hob's own executable, see all.RunHelper.
func RunHelper(args []string, in, out, errs *os.File) (code int, asked bool) {
	return all.RunHelper(args, in, out, errs)
}

// NewRegistry makes the registry of background commands. note is called with each file that one of them may have written.
func NewRegistry(r Reports, note func(path, why string)) *runtime.Registry {
	registry := runtime.NewRegistry(r)
	registry.Note = note
	return registry
}

// Terminals lists the sessions of tmux, or says why they are not known. A tmux server that hangs is not waited for.
func (b *Deps) Terminals(ctx context.Context, k Set, zone string) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	list, err := runtime.TmuxSessions(ctx, runtime.TmuxDeps{Zone: zone, Guard: k.Guard, Sandbox: k.Sandbox, Environ: b.Environ, Instance: b.Instance})
	if err != nil {
		return []string{"not known: " + err.Error()}
	}
	return list
}

// Recover ends and sweeps the remains of tools from a process that crashed: child processes, changes of several files, half-written files in
// the workspace.
func Recover(ctx context.Context, h Home, log *slog.Logger) error {
	n, err := runtime.KillOrphans(ctx, h.Instance)
	if err != nil {
		return fmt.Errorf("end the processes of the last run: %w", err)
	}
	if n > 0 {
		log.Info("ended processes that the last run left behind", "processes", n)
	}
	fail.Point("orphans.ended")
	if fail.Broken("keep-temp") {
		return nil
	}
	if err := all.Recover(ctx, h.State); err != nil { // before half-written files are swept
		log.Error("a change of several files was cut off, and could not be ended", "err", err)
	}
	return sweep(h.Workspace)
}

// sweep removes the half-written files that a crash left in the workspace.
func sweep(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read holds nothing of hob's
		}
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, ".hob-") && strings.HasSuffix(name, ".tmp") {
			return root.Remove(path)
		}
		return nil
	})
}
