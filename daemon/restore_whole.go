package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/secret"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/daemon/toolset"
)

// The folders and the file of a restore, inside state/. The mark is the moment of the change: before it the home is the old one; after it
// the files are put in their places, by this process or by the next start.
const (
	wholeStage = "restoring-home"
	wholeMark  = "restoring-home/ready.json"
	wholeNew   = "restoring-home/new"
)

// WholeRestore sums up a restore of a whole backup.
type WholeRestore struct {
	Backup WholeBackup `json:"backup"`
	Lost   BackupLoss  `json:"lost"`
	Newer  int64       `json:"newer,omitempty"` // files of the home, other than the database, that changed since the backup was made
	Held   RestoreNote `json:"held"`
	Kept   string      `json:"kept,omitempty"` // the folder for what is replaced; after the restore "" if nothing was there
}

// move is one file or folder that a restore replaces.
type move struct {
	Path string `json:"path"` // relative to the home, with slashes
	New  bool   `json:"new"`  // the backup contains it; otherwise it is only put aside
	Kept string `json:"kept"` // the folder of this restore in sqlite.WholeKept
}

// RestoreWhole puts a whole backup in the place of a home. ask is called when everything is extracted and checked; its error leaves the home
// as it was. The error is ErrRunning while a hob runs.
func RestoreWhole(ctx context.Context, home, file string, k BackupKey, ask func(WholeRestore) error) (done WholeRestore, err error) {
	o := Options{Home: home}
	isNew := !exists(home)
	if err := o.prepare(); err != nil {
		return done, err
	}
	if err := o.writable(o.Home, o.state(), o.lock()); err != nil {
		return done, err
	}
	lock, err := sqlite.TakeLock(o.state())
	if err != nil {
		return done, startFault(home, err)
	}
	defer func() {
		if err != nil && isNew {
			err = errors.Join(err, o.unprepare())
		}
		err = errors.Join(err, lock.Close())
	}()
	// An earlier restore may have been killed after its mark.
	if err := o.finishWhole(); err != nil {
		return done, err
	}
	fresh := filepath.Join(o.state(), filepath.FromSlash(wholeNew))
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return done, homeFault(home, err)
	}
	// Nothing of the stage is used without its mark.
	defer func() {
		if !exists(filepath.Join(o.state(), filepath.FromSlash(wholeMark))) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(o.state(), wholeStage)))
		}
	}()
	if done.Backup, err = extractWhole(ctx, file, k, fresh, func(string) bool { return true }); err != nil {
		return done, err
	}
	fail.Point("whole.extracted")
	migrations := store.Migrations()
	done.Held, done.Backup.Database, err = store.PrepareRestored(ctx, filepath.Join(fresh, filepath.FromSlash(databaseName)), file, o.database(), migrations, sys.RealClock().Wall)
	if err != nil {
		return done, store.BackupFault("the database in "+file, err)
	}
	if done.Lost, err = store.BackupLosesLocked(ctx, o.database(), migrations, done.Backup.Database); err != nil {
		return done, err
	}
	if done.Newer, err = o.newerFiles(done.Backup.Made); err != nil {
		return done, err
	}
	kept := sys.RealClock().Wall().UTC().Format("20060102-150405.000")
	done.Kept = filepath.Join(o.state(), sqlite.WholeKept, kept)
	if err := ask(done); err != nil {
		return done, err
	}
	fail.Point("whole.ready")
	if err := o.markWhole(fresh, kept); err != nil {
		if exists(filepath.Join(o.state(), filepath.FromSlash(wholeMark))) {
			return done, o.halfWay(err)
		}
		return done, homeFault(home, fullDisk(err))
	}
	if err := o.finishWhole(); err != nil {
		return done, err
	}
	done.Kept, err = keptWhole(done.Kept)
	return done, err
}

// newerFiles counts the files that a restore would replace and that changed since a backup was made. The database is not among them.
func (o Options) newerFiles(made time.Time) (n int64, err error) {
	// The times in a tar file are rounded to seconds, so a file that was restored can seem a little newer than its backup.
	made = made.Add(time.Second)
	for _, name := range append(wholeFolders(), configName) {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(o.Home, filepath.FromSlash(name)), func(_ string, d fs.DirEntry, err error) error {
			// A file that hob may not read is replaced too, but it is not worth more than the restore.
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.ModTime().After(made) {
				n++
			}
			return err
		}))
	}
	return n, err
}

// keptWhole returns the folder of what a restore has replaced. In a new home that is only empty folders, and they are removed.
func keptWhole(folder string) (string, error) {
	empty := true
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			empty = false
			return fs.SkipAll
		}
		return err
	})
	if err != nil || !empty {
		return folder, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	parent := filepath.Dir(folder)
	others, err := os.ReadDir(parent)
	if err == nil && len(others) == 0 {
		err = os.Remove(parent)
	}
	return "", err
}

// markWhole writes the list of what is to be replaced, and the name of the folder in which it is kept. From then on the restore goes forward.
func (o Options) markWhole(fresh, name string) error {
	list := []move{{Path: configName, New: exists(filepath.Join(fresh, configName))}, {Path: "state/hob.db-wal"}, {Path: "state/hob.db-shm"}, {Path: databaseName, New: true}}
	for _, name := range wholeFolders() {
		// An empty folder takes the place of one that the backup does not have.
		if err := os.MkdirAll(filepath.Join(fresh, filepath.FromSlash(name)), 0o700); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		list = append(list, move{Path: name, New: true})
	}
	// Without secrets in the backup, those of the home stay.
	more, err := secretMoves(fresh)
	if err != nil {
		return err
	}
	list = append(list, more...)
	for i, m := range list {
		if err := o.movable(m.Path); err != nil {
			return err
		}
		list[i].Kept = name
	}
	kept := filepath.Join(o.state(), sqlite.WholeKept, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o700), os.Mkdir(kept, 0o700), os.Mkdir(filepath.Join(kept, "state"), 0o700), syncTree(fresh)); err != nil {
		return fmt.Errorf("make a place for what is replaced: %w", err)
	}
	if err := o.oneDisk(kept, list); err != nil {
		_, e := keptWhole(kept)
		return errors.Join(err, e)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("write the list of the restore: %w", err)
	}
	mark := filepath.Join(o.state(), filepath.FromSlash(wholeMark))
	if err := writeDurably(mark, text); err != nil {
		return err
	}
	fail.Point("whole.marked")
	return nil
}

// secretMoves lists the files of secrets in an extracted backup: the vault as a whole, others one by one.
func secretMoves(fresh string) (list []move, err error) {
	if exists(filepath.Join(fresh, filepath.FromSlash(secretsFolder))) {
		list = append(list, move{Path: secretsFolder, New: true})
	}
	err = filepath.WalkDir(fresh, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(fresh, p)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case name == "workspace" || name == "state":
			return fs.SkipDir
		case !d.IsDir() && name != configName:
			list = append(list, move{Path: name, New: true})
		}
		return nil
	})
	return list, err
}

// movable refuses what a rename cannot replace: what hob may not move, and a place where another disk is mounted.
func (o Options) movable(name string) error {
	at := filepath.Join(o.Home, filepath.FromSlash(name))
	parent := filepath.Dir(at)
	for parent != o.Home && !exists(parent) { // it is made in the first that exists
		parent = filepath.Dir(parent)
	}
	if err := o.writable(parent); err != nil {
		return err
	}
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The rights of a file do not matter, but those of a folder do: its entry .. changes (rename(2)). EPERM is a file that is set immutable.
	if err := o.writable(at); err != nil && (info.IsDir() || errors.Is(err, syscall.EPERM)) {
		return err
	}
	same, err := sys.SameDisk(filepath.Dir(at), info)
	if err == nil && !same {
		err = event.NewFault(event.Clash, "restore to another home with --home, and move the files", "%s is on another disk than the home: it cannot be replaced in one step; nothing was changed", at)
	}
	return err
}

// oneDisk refuses a home whose parts are on several disks: a rename cannot move between them.
func (o Options) oneDisk(kept string, list []move) error {
	for _, m := range list {
		dir := filepath.Dir(filepath.Join(o.Home, filepath.FromSlash(m.Path)))
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is made in a folder that is looked at
		}
		if err != nil {
			return err
		}
		for _, other := range []string{kept, o.state()} {
			if same, err := sys.SameDisk(other, info); err != nil || !same {
				return errors.Join(err, event.NewFault(event.Clash, "restore to another home with --home, and move the files", "%s and %s are on two disks: nothing can be replaced in one step; nothing was changed", dir, other))
			}
		}
	}
	return nil
}

// finishWhole ends a restore that has its mark, and sweeps one that has not. The caller holds the lock. Each step is a rename that is done
// once: what is not in the stage any more is in its place.
func (o Options) finishWhole() error {
	stage := filepath.Join(o.state(), wholeStage)
	text, err := os.ReadFile(filepath.Join(o.state(), filepath.FromSlash(wholeMark)))
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(stage)
	}
	var list []move
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return o.halfWay(fmt.Errorf("read the list of the restore: %w", err))
	}
	if err := o.replaceAll(list); err != nil {
		return o.halfWay(err)
	}
	return os.RemoveAll(stage)
}

// replaceAll makes each move of a restore, and removes its mark.
func (o Options) replaceAll(list []move) error {
	for _, m := range list {
		if err := o.replace(m); err != nil {
			return fmt.Errorf("put %s in its place: %w", m.Path, err)
		}
		fail.Point("whole.moved")
	}
	// The index of the memory is of the database that was replaced.
	if err := toolset.RemoveMemory(o.state()); err != nil {
		return err
	}
	return errors.Join(sys.SyncFolder(o.Home), sys.SyncFolder(o.state()), os.Remove(filepath.Join(o.state(), filepath.FromSlash(wholeMark))))
}

// halfWay turns an error after the mark into a fault that says what becomes of the restore.
func (o Options) halfWay(err error) error {
	hint := "the next start of hob, or the next hob backup restore, goes on with it"
	if _, repair := sys.DiskProblem(err); repair != "" {
		hint = repair + "; then " + hint
	}
	return &event.Fault{Kind: event.Unavailable, Text: "the restore of the home " + o.Home + " is half-way: " + err.Error(), Hint: hint, Err: err}
}

// replace puts one file or folder aside, and the new one in its place.
func (o Options) replace(m move) error {
	local := filepath.FromSlash(m.Path)
	at, fresh, kept := filepath.Join(o.Home, local), filepath.Join(o.state(), filepath.FromSlash(wholeNew), local), filepath.Join(o.state(), sqlite.WholeKept, m.Kept, local)
	if m.New && !exists(fresh) || !m.New && exists(kept) {
		return nil // done before
	}
	if exists(at) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o700), os.Rename(at, kept)); err != nil {
			return err
		}
	}
	if !m.New {
		return nil
	}
	return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Rename(fresh, at))
}

// resumeWhole ends a restore that was killed, before anything of the home is read.
func (o Options) resumeWhole() (err error) {
	if !exists(filepath.Join(o.state(), wholeStage)) {
		return nil
	}
	lock, err := sqlite.TakeLock(o.state())
	if err != nil {
		return err
	}
	return errors.Join(o.finishWhole(), lock.Close())
}

// writeDurably writes a file under a temporary name, and renames it.
func writeDurably(path string, text []byte) error {
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- hob's own
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	return sys.SyncFolder(filepath.Dir(path))
}

// syncTree makes the names of a tree durable. The files in it are already.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return sys.SyncFolder(p)
	})
}

// MissingSecrets explains how to give what a backup does not contain and a home does not have.
func (w WholeBackup) MissingSecrets(home string) []string {
	var hints []string
	for _, name := range w.LeftOut {
		kept, inVault := strings.CutPrefix(name, secretsFolder+"/")
		account, isAccount := strings.CutPrefix(kept, "account-")
		scheme, place, _ := strings.Cut(name, ":")
		switch {
		case !secret.IsReference(name) && exists(filepath.Join(home, filepath.FromSlash(name))):
		case inVault && isAccount:
			hints = append(hints, "account "+account+": hob account add "+account)
		case inVault && strings.HasPrefix(kept, "mcp-"):
			hints = append(hints, kept+": sign in again with hob mcp login")
		case inVault:
			hints = append(hints, kept+": sign in again with hob setup")
		case scheme == "env":
			hints = append(hints, name+": set the variable "+place+" where hob runs")
		case scheme == "keyring":
			hints = append(hints, name+": put it into this machine's keyring")
		case scheme == "cmd":
			hints = append(hints, name+": this command must work here")
		case scheme == "file" && exists(place):
		default:
			hints = append(hints, name+": put the file back (chmod 600)")
		}
	}
	return hints
}
