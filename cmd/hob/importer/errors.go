package importer

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hob/daemon/api/client"
	"hob/daemon/sys"
)

// unreadError means that something of the other program could not be read, whatever it holds.
type unreadError struct{ err error }

// Error says it without the path, which the item has.
func (e *unreadError) Error() string { return "it cannot be read: " + explained(e.err).Error() }

// Unwrap returns the cause.
func (e *unreadError) Unwrap() error { return e.err }

// explained puts an error of the system, or of the daemon, in a sentence that says what to do. Any other error is returned as it is.
func explained(err error) error {
	text, hint := sys.DiskProblem(err)
	if problem := (*client.Problem)(nil); errors.As(err, &problem) {
		text, hint, _ = client.Explain(err)
	}
	switch {
	case text == "":
		return err
	case hint != "":
		text += "; " + hint
	}
	return errors.New(text)
}

// readable returns the first error of reading a folder and the files in it.
func readable(dir string) error {
	return eachFile(dir, func(_ string, f *os.File) error {
		_, err := io.CopyN(io.Discard, f, 1)
		return sys.Except(err, io.EOF)
	})
}

// eachFile opens the files below a folder, one after the other, without hidden ones. Links are not followed.
func eachFile(dir string, visit func(name string, f *os.File) error) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case hidden && e.IsDir():
			return fs.SkipDir
		case err != nil || hidden || !e.Type().IsRegular(): // of a folder that cannot be looked at there is an error and no entry
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(visit(name, f), f.Close())
	})
}
