package edit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/edit/atomic"
	"hob/tools/edit/long"
)

// Limits.
const (
	maxFile   = 256 << 20 // bigger files are not changed by a tool that holds them in memory
	hashLimit = 4 << 20   // bigger files are told by time and size alone
)

// wish is a path that a call names.
type wish struct {
	path string
	read bool // it is read too
}

// target is a wish that was judged.
type target struct {
	given  string
	place  fsguard.Place
	before string // what is there: "absent", a hash, or time and size of a big file
}

// judged makes the intent of a call: where its paths lead, and what is there. It reads files only to hash them. say makes the
// summary out of the paths, resolved.
func (d Deps) judged(call tools.Call, name string, in any, paths []wish, say func(paths []string) string) (tools.Intent, error) {
	i := tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSRead, tools.FSWrite}}
	var leads []string
	var kept []target
	before := map[string]string{}
	for _, w := range paths {
		t, err := d.judge(call, w.path)
		if err != nil {
			return tools.Intent{}, err
		}
		kept, leads = append(kept, t), append(leads, t.place.Path)
		if t.place.Own && !slices.Contains(i.Scopes, tools.Config) {
			i.Scopes = append(i.Scopes, tools.Config)
		}
		for _, write := range []bool{true, false} {
			p := tools.PathOf(t.place, write)
			if (write || w.read) && !slices.Contains(i.Paths, p) {
				i.Paths = append(i.Paths, p)
			}
		}
		before[t.place.Path] = t.before
	}
	canonical, err := tools.Canonical(struct {
		Tool   string            `json:"tool"`
		Before map[string]string `json:"before"` // an approval to change one content is none to change another
		Args   any               `json:"args"`
	}{name, before, in})
	i.Canonical, i.Keep, i.Summary = canonical, kept, say(leads)
	return i, err
}

func (d Deps) judge(call tools.Call, path string) (target, error) {
	p, err := d.Guard.Resolve(call.Workdir, path)
	if err != nil {
		return target{}, tools.RefusePath(d.Guard, call, path, err)
	}
	t := target{given: path, place: p}
	if t.before, err = d.before(p); err != nil {
		return t, tools.RefusePath(d.Guard, call, path, err)
	}
	return t, nil
}

func (d Deps) before(p fsguard.Place) (string, error) {
	if !p.Exists() || p.Area == fsguard.State || !p.Info.Mode().IsRegular() {
		return "absent", nil
	}
	if p.Info.Size() > hashLimit {
		return fmt.Sprintf("%d bytes of %s", p.Info.Size(), p.Info.ModTime().UTC()), nil
	}
	data, err := d.read(p)
	if errors.Is(err, iofs.ErrPermission) {
		return "unreadable", nil
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

func (d Deps) read(p fsguard.Place) ([]byte, error) {
	f, err := d.Guard.Open(p)
	if err != nil {
		return nil, err
	}
	data := make([]byte, p.Info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // it became shorter
		err = nil
	}
	return data[:n], errors.Join(err, f.Close())
}

// sheet is the files of one call while it works on them. Nothing is written before commit.
type sheet struct {
	Deps
	call   tools.Call
	intent tools.Intent
	files  map[string]*file // by the resolved path
	order  []*file
	long   bool // big files are not held in memory
}

// file is one of them.
type file struct {
	target
	was, now []byte
	long     *long.Text // instead of was and now: only the changes are in memory
	existed  bool
	exists   bool
	like     iofs.FileInfo // a new file takes its mode from it
	from     string        // moved from here, as given
	origin   []byte        // what a moved file was before
	moved    bool          // away
	count    int           // replacements
}

// sheet begins the work on what Intent judged.
func (d Deps) sheet(call tools.Call, intent tools.Intent) *sheet {
	return &sheet{Deps: d, call: call, intent: intent, files: map[string]*file{}}
}

// asJudged says that a path leads where it led when the call was judged, and that the same stands there. A call that comes
// back without what Intent kept (after a restart) must at least lead to one of the same paths.
func (s *sheet) asJudged(t target) bool {
	kept, ok := s.intent.Keep.([]target)
	if !ok {
		return slices.ContainsFunc(s.intent.Paths, func(p tools.Path) bool { return p.Path == t.place.Path })
	}
	return slices.ContainsFunc(kept, func(k target) bool {
		return k.given == t.given && k.place.Path == t.place.Path && k.before == t.before
	})
}

// open brings a file into the sheet, if it is still what was judged and what the session has seen.
func (s *sheet) open(path string) (*file, error) {
	t, err := s.judge(s.call, path)
	if err != nil {
		return nil, err
	}
	if f, ok := s.files[t.place.Path]; ok {
		return f, nil
	}
	if !s.asJudged(t) {
		return nil, tools.Refuse(tools.Conflict, "call the tool again", "%s changed, or leads elsewhere, since this call was judged", tools.ShownPath(path))
	}
	if t.place.Area == fsguard.State {
		return nil, tools.RefusePath(s.Guard, s.call, path, fsguard.ErrState)
	}
	if t.place.IsDir() {
		return nil, tools.Refuse(tools.Validation, "name a file", "%s is a folder", tools.ShownPath(path))
	}
	if err := s.unchanged(t); err != nil {
		return nil, err
	}
	f := &file{target: t, existed: t.place.Exists(), exists: t.place.Exists()}
	if f.existed {
		if err := s.load(f); err != nil {
			return nil, err
		}
	}
	s.files[t.place.Path], s.order = f, append(s.order, f)
	return f, nil
}

// load takes a file's content into memory, or only its place when it is long.
func (s *sheet) load(f *file) error {
	var err error
	switch size := f.place.Info.Size(); {
	case s.long && size > maxLong:
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s is too big to edit (over 1 GB)", tools.ShownPath(f.given))
	case s.long && size > longFile:
		src, opening := s.Guard.Open(f.place)
		if err = opening; err == nil {
			f.long = long.New(src, size)
		}
	case size > maxFile:
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s is too big to edit (over 256 MB)", tools.ShownPath(f.given))
	default:
		f.was, err = s.read(f.place)
		f.now = f.was
	}
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, f.given, err)
	}
	return nil
}

// close lets go of the long files.
func (s *sheet) close() {
	for _, f := range s.order {
		if f.long != nil {
			_ = f.long.Close() // only read: nothing to lose
		}
	}
}

// existing is open for a file that must be there and be text.
func (s *sheet) existing(path string) (*file, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	if !f.exists {
		return nil, tools.RefusePath(s.Guard, s.call, path, iofs.ErrNotExist)
	}
	head, err := f.head(8000)
	if err != nil {
		return nil, tools.RefusePath(s.Guard, s.call, path, err)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, tools.Refuse(tools.Validation, "only text can be edited", "%s is a binary file", tools.ShownPath(path))
	}
	return f, nil
}

// unchanged refuses to change what is no longer as the session last saw it.
func (s *sheet) unchanged(t target) error {
	changed, err := s.Seen.Changed(s.Guard, s.call.Session, t.place)
	switch {
	case err != nil:
		return tools.RefusePath(s.Guard, s.call, t.given, err)
	case changed && !t.place.Exists():
		s.Seen.Forget(s.call.Session, t.place.Path)
		return tools.Refuse(tools.Conflict, "ls its folder, then decide", "%s was removed since you last read it", tools.ShownPath(t.given))
	case changed:
		return tools.Refuse(tools.Conflict, "read it again, then edit", "%s changed since you last read it", tools.ShownPath(t.given))
	}
	return nil
}

// dirty says that a file is to be written or removed.
func (f *file) dirty() bool {
	if f.long != nil {
		return f.long.Changed()
	}
	return f.exists != f.existed || f.exists && !bytes.Equal(f.was, f.now)
}

// commit writes all files of the sheet or none.
func (s *sheet) commit(ctx context.Context, in any) error {
	var changes []atomic.Change
	var changed []*file
	for _, f := range s.order {
		if !f.dirty() {
			continue
		}
		if f.exists {
			name, err := f.placeholder(ctx)
			if err != nil {
				return tools.RefusePath(s.Guard, s.call, f.given, err)
			}
			if name != "" {
				return tools.Refuse(tools.Validation, "it stands for a value that you were not shown: leave that part of the file as it is",
					"%s: the new text holds the placeholder %s", tools.ShownPath(f.given), name)
			}
		}
		changes = append(changes, atomic.Change{Place: f.place, Data: f.now, Remove: !f.exists, Like: f.like, Fill: f.fill()})
		changed = append(changed, f)
	}
	if len(changes) == 0 {
		return nil
	}
	job, err := s.job(s.call, in)
	if err != nil {
		return err
	}
	infos, err := atomic.Commit(ctx, s.Guard, job, changes)
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, changed[0].given, err)
	}
	return s.remember(changed, infos)
}

// remember tells Seen what the session has written.
func (s *sheet) remember(changed []*file, infos []iofs.FileInfo) error {
	for i, f := range changed {
		if !f.exists {
			s.Seen.Forget(s.call.Session, f.place.Path)
			continue
		}
		data := f.now
		if f.long != nil {
			var err error
			if data, err = f.long.Head(headSize); err != nil {
				return fmt.Errorf("look at what was written: %w", err)
			}
		}
		s.Seen.Wrote(s.call.Session, f.place.Path, infos[i], data)
	}
	return nil
}

func (d Deps) job(call tools.Call, in any) (atomic.Job, error) {
	args, err := tools.Canonical(in)
	id := call.ID
	if id == "" {
		id = sys.RandomIDs().Code(16)
	}
	return atomic.Job{Folder: d.Journal, ID: id, Args: args}, err
}

// took says whether an interrupted call was carried out: it was, all of it, when its journal says so.
func (d Deps) took(call tools.Call, in any) (bool, error) {
	job, err := d.job(call, in)
	if err != nil {
		return false, err
	}
	return atomic.Took(job)
}

// summary names the files that a call changes.
func summary(verb string) func(paths []string) string {
	return func(paths []string) string {
		var names []string
		for _, path := range paths {
			if name := tools.ShownPath(path); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 5 {
			return fmt.Sprintf("%s %s and %d more files", verb, strings.Join(names[:4], ", "), len(names)-4)
		}
		return verb + " " + strings.Join(names, ", ")
	}
}
