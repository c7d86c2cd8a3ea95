package fsguard

import (
	"errors"
	"io/fs"
	"os"
)

// Batch resolves many paths at one moment, such as the final check of a search. It looks at each folder once, so it is used for one check and
// then dropped. Files and symbolic links are looked at each time. It is not safe for concurrent use.
type Batch struct {
	guard *Guard
	seen  map[string]fs.FileInfo // folders; nil: there is nothing of that name
}

// NewBatch returns an empty batch of a guard.
func NewBatch(g *Guard) *Batch { return &Batch{g, map[string]fs.FileInfo{}} }

// Resolve is Resolve of the guard.
func (b *Batch) Resolve(base, path string) (Place, error) {
	return resolve(b.guard, b.lstat, base, path)
}

// Foreign is Foreign of the guard.
func (b *Batch) Foreign(path string, area Area) string { return foreign(b.guard, b.lstat, path, area) }

func (b *Batch) lstat(path string) (fs.FileInfo, error) {
	if info, ok := b.seen[path]; info != nil {
		return info, nil
	} else if ok {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		b.seen[path] = info
	} else if errors.Is(err, fs.ErrNotExist) {
		b.seen[path] = nil
	}
	return info, err
}
