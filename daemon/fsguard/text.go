package fsguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"
)

// Text reads a file that hob sends to a model unasked: one of the workspace's files with fixed names. Of a file over most bytes it returns the
// first three quarters of most and the last quarter, one after the other. Such a name could be a link, a pipe or a device, so Text reads only regular files, and neither secrets nor hob's own state. Errors: ErrState,
// ErrSecret, ErrRegular, ErrMoved, fs.ErrNotExist, fs.ErrPermission.
func Text(g *Guard, path string, most int64) (text []byte, at Place, err error) {
	at, err = g.Resolve("", path)
	if err != nil {
		return nil, at, err
	}
	if at.Area == Sensitive {
		return nil, at, fmt.Errorf("%s leads to %s: %w", path, at.Path, ErrSecret)
	}
	f, err := g.Open(at)
	if err != nil {
		return nil, at, err
	}
	head := most
	if at.Info.Size() > most {
		head = most * 3 / 4
	}
	text, err = io.ReadAll(io.LimitReader(f, head))
	if err == nil && head < most {
		var end []byte
		end, err = io.ReadAll(io.NewSectionReader(f, at.Info.Size()-(most-head), most-head))
		text = append(text, end...)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, at, fmt.Errorf("read %s: %w", path, err)
	}
	return text, at, nil
}

// Limits of what Texts keeps.
const (
	mostOfText = 64 << 10        // bytes of one file
	settled    = 2 * time.Second // a file that changed later than this may change again and look the same, because clocks of file systems are coarse
)

// Texts is Text for files that are asked for again and again: it keeps small texts, and reads a file again only when it looks different. It is safe for
// concurrent use.
type Texts struct {
	Now func() time.Time

	mu   sync.Mutex
	kept map[string]keptText // by path
}

// keptText is what Text returned, and what the file looked like before and after.
type keptText struct {
	guard *Guard
	look  Fingerprint
	text  []byte
	at    Place
}

// Text returns what the function Text returns for an absolute path. Nobody may change the text.
func (k *Texts) Text(g *Guard, path string, most int64) ([]byte, Place, error) {
	look, err := Look(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Place{}, err
	}
	k.mu.Lock()
	one, ok := k.kept[path]
	k.mu.Unlock()
	if ok && err == nil && one.guard == g && one.look == look {
		// Marks change without the file.
		one.at.Foreign = g.Foreign(one.at.Path, one.at.Area)
		return one.text, one.at, nil
	}
	text, at, failed := Text(g, path, most)
	// A link may lead elsewhere without looking different, and another file may have had this name while the text was read.
	again, gone := Look(path)
	if errors.Join(err, failed, gone) == nil && again == look && look.Mode.IsRegular() && len(text) <= mostOfText && k.Now().Sub(time.Unix(0, look.Changed)) > settled {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.kept == nil {
			k.kept = map[string]keptText{}
		}
		k.kept[path] = keptText{g, look, text, at}
	}
	return text, at, failed
}
