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
	"hob/daemon/text"
	"hob/tools"
)

// Limits, in bytes.
const (
	maxFile   = 256 << 20 // larger files are not loaded into memory
	hashLimit = 4 << 20   // larger files are identified by time and size only
)

// pathArg is a path that a call names.
type pathArg struct {
	path string
	read bool // the call also reads it
}

// target is a resolved path with the state of its file.
type target struct {
	given  string
	place  fsguard.Place
	before string // its content: that it is absent from its folder, a hash, or time and size of a large file
}

// intentFor builds the intent of a call: where its paths lead, and what is there now. It reads
// files only to hash them. say makes the summary from the resolved paths.
func (d Deps) intentFor(call tools.Call, name string, in any, paths []pathArg, say func(paths []string) string) (tools.Intent, error) {
	i := tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSRead, tools.FSWrite}}
	var leads []string
	var kept []target
	before := map[string]string{}
	for _, w := range paths {
		t, err := d.resolve(call, w.path)
		if err != nil {
			return tools.Intent{}, err
		}
		kept, leads = append(kept, t), append(leads, t.place.Path)
		// hob's own config files need one more permission.
		if t.place.Own && !slices.Contains(i.Scopes, tools.Config) {
			i.Scopes = append(i.Scopes, tools.Config)
		}
		// The permission rules judge writing and reading separately.
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
		Before map[string]string `json:"before"` // an approval covers this content only
		Args   any               `json:"args"`
	}{name, before, in})
	i.Canonical, i.Keep, i.Summary = canonical, kept, say(leads)
	return i, err
}

// resolve resolves one path and records the state of its file.
func (d Deps) resolve(call tools.Call, path string) (target, error) {
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

// before identifies the current content of a file, so that an approval is void when the content
// changes.
func (d Deps) before(p fsguard.Place) (string, error) {
	if !p.Exists() || p.Area == fsguard.State || !p.Info.Mode().IsRegular() {
		return p.Absent(), nil
	}
	// Hashing a large file for each intent would take too long.
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

// read returns the content of a file. A file that became shorter meanwhile is no error here: the
// commit detects it.
func (d Deps) read(p fsguard.Place) ([]byte, error) {
	f, err := d.Guard.Open(p)
	if err != nil {
		return nil, err
	}
	data := make([]byte, p.Info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) { // the file became shorter
		err = nil
	}
	return data[:n], errors.Join(err, f.Close())
}

// changeSet holds the files of one call while the call works on them. Nothing is written before
// commit.
type changeSet struct {
	Deps
	call   tools.Call
	intent tools.Intent
	files  map[string]*file // by resolved path
	order  []*file
	long   bool // do not hold large files in memory
}

// file is one file of a changeSet: its content before the call and now, as UTF-8. Its encoding and the line ends of the Macintosh stay.
type file struct {
	target
	was, now []byte
	encoding text.Encoding
	long     *longText // replaces was and now: holds only the changes in memory
	existed  bool
	exists   bool
	like     iofs.FileInfo // a new file copies its mode
	from     string        // the old path of a moved file, as given
	origin   []byte        // the old content of a moved file
	moved    bool          // it was moved to another path
	count    int           // replacements
	differ   string        // characters of a place that was found because it looks the same
}

// changeSet starts the work on the files of an intent.
func (d Deps) changeSet(call tools.Call, intent tools.Intent) *changeSet {
	return &changeSet{Deps: d, call: call, intent: intent, files: map[string]*file{}}
}

// asIntended reports whether a path still leads to the same file with the same content as in the
// intent. After a restart the intent has lost its targets; then the path must at least be one of
// the same paths.
func (s *changeSet) asIntended(t target) bool {
	kept, ok := s.intent.Keep.([]target)
	if !ok {
		return slices.ContainsFunc(s.intent.Paths, func(p tools.Path) bool { return p.Path == t.place.Path })
	}
	return slices.ContainsFunc(kept, func(k target) bool {
		return k.given == t.given && k.place.Path == t.place.Path && k.before == t.before
	})
}

// open adds a file to the set. It refuses a file that changed since the intent, or since the
// session last saw it.
func (s *changeSet) open(path string) (*file, error) {
	t, err := s.resolve(s.call, path)
	if err != nil {
		return nil, err
	}
	// Two spellings of one path are one file, so that later replacements see earlier ones.
	if f, ok := s.files[t.place.Path]; ok {
		return f, nil
	}
	// The permission rules have decided on the intent, so nothing else may be changed.
	if !s.asIntended(t) {
		return nil, tools.Refuse(tools.Conflict, "call the tool again", "%s changed, or leads elsewhere, since this call was checked", tools.ShownPath(path))
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

// load reads a file into memory, or opens it if it is long.
func (s *changeSet) load(f *file) error {
	size := f.place.Info.Size()
	if s.long && size > maxLong {
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s is too large to edit (over 1 GB)", tools.ShownPath(f.given))
	}
	src, err := s.Guard.Open(f.place)
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, f.given, err)
	}
	sample, whole, err := text.Sample(src, size)
	if err == nil {
		f.encoding, _ = text.Detect(sample, whole)
	}
	// A long file stays on disk: only its changes are held in memory.
	if err == nil && s.long && size > longFile && f.encoding.UTF8() {
		f.long = newLongText(src, size)
		return nil
	}
	if err = errors.Join(err, src.Close()); err == nil && size > maxFile {
		return tools.Refuse(tools.Validation, "use exec with sed or a script", "%s is too large to edit (over 256 MB)", tools.ShownPath(f.given))
	}
	if err == nil {
		f.was, err = s.read(f.place)
	}
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, f.given, err)
	}
	if !f.encoding.UTF8() {
		exact := false
		if f.was, exact = f.encoding.Exact(f.was); !exact {
			return tools.Refuse(tools.Validation, "exec can convert it (iconv)", "%s looks like %s but has bytes that it does not have, which an edit would change", tools.ShownPath(f.given), f.encoding)
		}
	}
	f.now = f.was
	return nil
}

// close closes the long files.
func (s *changeSet) close() {
	for _, f := range s.order {
		if f.long != nil {
			_ = f.long.Close() // read only: nothing can be lost
		}
	}
}

// existing is open for a file that must exist and be text.
func (s *changeSet) existing(path string) (*file, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	if !f.exists {
		return nil, tools.RefusePath(s.Guard, s.call, path, iofs.ErrNotExist)
	}
	// A NUL near the beginning means a binary file. git uses the same rule and number.
	head, err := f.head(8000)
	if err != nil {
		return nil, tools.RefusePath(s.Guard, s.call, path, err)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, tools.Refuse(tools.Validation, "only text can be edited", "%s is a binary file", tools.ShownPath(path))
	}
	return f, nil
}

// unchanged refuses a file that differs from what the session last saw.
func (s *changeSet) unchanged(t target) error {
	changed, err := s.Seen.Changed(s.Guard, s.call.Session, t.place)
	switch {
	case err != nil:
		return tools.RefusePath(s.Guard, s.call, t.given, err)
	case changed && !t.place.Exists():
		// Refuse only once: the next call may create the file again.
		s.Seen.Forget(s.call.Session, t.place.Path)
		return tools.Refuse(tools.Conflict, "ls its folder, then decide", "%s was removed since you last read it", tools.ShownPath(t.given))
	case changed:
		return tools.Refuse(tools.Conflict, "read it again, then edit", "%s changed since you last read it", tools.ShownPath(t.given))
	}
	return nil
}

// dirty reports whether a file must be written or removed.
func (f *file) dirty() bool {
	if f.long != nil {
		return f.long.Changed()
	}
	return f.exists != f.existed || f.exists && !bytes.Equal(f.was, f.now)
}

// commit writes all changed files or none. It refuses text with the placeholder of a secret.
func (s *changeSet) commit(ctx context.Context, in any) error {
	var changes []fileChange
	var changed []*file
	for _, f := range s.order {
		if !f.dirty() {
			continue
		}
		if f.exists {
			// A placeholder is what the model saw in the place of a secret. Writing it would destroy the secret.
			name, err := f.placeholder(ctx)
			if err != nil {
				return tools.RefusePath(s.Guard, s.call, f.given, err)
			}
			if name != "" {
				return tools.Refuse(tools.Validation, "it stands for a value that you were not shown: leave that part of the file as it is",
					"%s: the new text holds the placeholder %s", tools.ShownPath(f.given), name)
			}
		}
		data, err := f.encoding.Encode(f.now, slices.Concat(f.was, f.origin))
		if err != nil {
			return tools.Refuse(tools.Validation, "use another character, or convert the file first (iconv)", "%s keeps its encoding: %v", tools.ShownPath(f.given), err)
		}
		changes = append(changes, fileChange{Place: f.place, Data: data, Remove: !f.exists, Like: f.like, Long: f.long})
		changed = append(changed, f)
	}
	if len(changes) == 0 {
		return nil
	}
	// The job has the id of the call, so that probe finds its receipt after a restart.
	job, err := s.job(s.call, in)
	if err != nil {
		return err
	}
	infos, err := commitFiles(ctx, s.Guard, job, changes)
	if err != nil {
		return tools.RefusePath(s.Guard, s.call, changed[0].given, err)
	}
	return s.remember(changed, changes, infos)
}

// remember records in Seen what the session has written.
func (s *changeSet) remember(changed []*file, written []fileChange, infos []iofs.FileInfo) error {
	for i, f := range changed {
		if !f.exists {
			s.Seen.Forget(s.call.Session, f.place.Path)
			continue
		}
		data := written[i].Data
		if f.long != nil {
			var err error
			if data, err = f.long.Head(headSize); err != nil {
				return fmt.Errorf("read the edited file: %w", err)
			}
		}
		s.Seen.Wrote(s.call.Session, f.place.Path, infos[i], data)
	}
	return nil
}

// job identifies a call in the journal by its id and arguments.
func (d Deps) job(call tools.Call, in any) (job, error) {
	args, err := tools.Canonical(in)
	// A call without an id is never resumed, so any unique name will do.
	id := call.ID
	if id == "" {
		id = sys.RandomIDs().Code(16)
	}
	return job{Folder: d.Journal, ID: id, Args: args}, err
}

// wasApplied reports whether an interrupted call was carried out: its journal holds a receipt.
func (d Deps) wasApplied(call tools.Call, in any) (bool, error) {
	job, err := d.job(call, in)
	if err != nil {
		return false, err
	}
	return committed(job)
}

// summary returns a function that names the files that a call changes.
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
