package artifacts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
)

// attachments is the workspace's folder with copies of received files, in one folder per message.
const attachments = fsguard.AttachmentFolder

// incoming is a message with files that is being accepted, under a reserved number.
type incoming struct {
	Store
	seq  int64
	work *os.Root   // the workspace
	kept []Artifact // rows of the files stored so far
}

// AcceptFiles commits an input with the files that came with it.
//
// It first writes the bytes durably, as artifacts and as copies in attachments/SEQ, where SEQ is the number of the future inbox row. Then
// it commits the rows of the artifacts and of the input in one transaction. The files of a row therefore exist as soon as the row does.
// Files that a crash leaves have no row, and Sweep removes them.
//
// The name of a part becomes the path of its copy in the workspace. That tells the model where the file is; relative paths of tools begin
// there.
func (s Store) AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (r event.Receipt, err error) {
	work, err := os.OpenRoot(s.Workspace)
	if err != nil {
		return r, storageFault(err)
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	a := &incoming{Store: s, work: work}
	if r, err = a.reserve(ctx, in); err != nil || a.seq == 0 {
		return r, storageFault(err)
	}
	r, err = a.accept(ctx, in, contents)
	if err != nil || !r.New { // the second delivery of one message keeps no files either
		err = storageFault(errors.Join(err, a.discard()))
	}
	return r, err
}

// reserve reserves a number for the message and makes its folder. For a message that was accepted before, it returns the receipt and seq
// 0. A number whose folder exists already is skipped: the database was restored from an older backup.
func (a *incoming) reserve(ctx context.Context, in event.In) (r event.Receipt, err error) {
	if err := fsguard.RealFolder(filepath.Join(a.Workspace, attachments)); err != nil {
		return r, err
	}
	if err := a.work.MkdirAll(attachments, 0o700); err != nil {
		return r, err
	}
	for {
		if a.seq, r, err = a.Rows.Reserve(ctx, in); err != nil || a.seq == 0 {
			return r, err
		}
		if err = a.work.Mkdir(a.folder(), 0o700); !errors.Is(err, fs.ErrExist) {
			return r, err
		}
	}
}

// folder returns the folder of the copies, relative to the workspace.
func (a *incoming) folder() string { return path.Join(attachments, strconv.FormatInt(a.seq, 10)) }

// accept stores the files of the message and commits it.
func (a *incoming) accept(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	if err := errors.Join(sys.SyncFolderIn(a.work, attachments), sys.SyncFolderIn(a.work, ".")); err != nil {
		return event.Receipt{}, err
	}
	parts := make([]event.Part, 0, len(in.Parts))
	for _, p := range in.Parts {
		if p.Kind != event.Text {
			var err error
			if p, err = a.keep(p, in, contents[len(a.kept)]); err != nil {
				return event.Receipt{}, err
			}
		}
		parts = append(parts, p)
	}
	in.Parts = parts
	fail.Point("inbound.received")
	return a.Rows.AcceptFiles(ctx, a.seq, in, a.kept)
}

// keep stores the bytes of one part, as an artifact and as a copy in the workspace.
func (a *incoming) keep(p event.Part, in event.In, data []byte) (event.Part, error) {
	row, err := a.put(bytes.NewReader(data))
	if err != nil {
		return p, err
	}
	row.Name, row.MIME, row.Trust, row.Source = p.Name, p.MIME, in.Trust, in.Source
	a.kept = append(a.kept, row)
	p.Artifact, p.Name = row.ID, path.Join(a.folder(), p.Name)
	if _, err := writeDurable(a.work, p.Name, bytes.NewReader(data)); err != nil {
		return p, fmt.Errorf("copy into the workspace: %w", err)
	}
	return p, nil
}

// discard removes the stored files of a message that was not accepted.
func (a *incoming) discard() error {
	err := a.work.RemoveAll(a.folder())
	for _, row := range a.kept {
		err = errors.Join(err, os.Remove(filepath.Join(a.Dir, row.ID)))
	}
	if err != nil {
		return fmt.Errorf("remove the stored files: %w", err)
	}
	return nil
}

// storageFault explains in one sentence why attachments were not stored.
func storageFault(err error) error {
	var f *event.Fault
	switch {
	case err == nil || errors.As(err, &f) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ENOSPC):
		f = &event.Fault{Text: "the disk is full: the message was not stored", Hint: "free some space and send it again"}
	default:
		f = &event.Fault{Text: "the attachments could not be stored: " + err.Error(), Hint: "check that hob may write to the folders workspace/attachments and state/artifacts of its home"}
	}
	f.Kind, f.Err = event.Unavailable, err
	return f
}

// sweepCopies removes folders whose number was reserved but never became an inbox row. It leaves everything else in the folder alone.
func (s Store) sweepCopies(ctx context.Context) (err error) {
	root, err := os.OpenRoot(s.Workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	list, err := fs.ReadDir(root.FS(), attachments)
	if err != nil {
		return nil //nolint:nilerr // an unreadable folder holds no files of hob's
	}
	for _, e := range list {
		seq, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || seq <= 0 || strconv.FormatInt(seq, 10) != e.Name() || !e.IsDir() {
			continue
		}
		gone, err := s.View.Abandoned(ctx, seq)
		if err == nil && gone {
			err = root.RemoveAll(path.Join(attachments, e.Name()))
		}
		if err != nil {
			return fmt.Errorf("sweep attachments: %w", err)
		}
	}
	return nil
}
