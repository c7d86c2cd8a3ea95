package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hob/daemon/sys"
)

// place says where a value is stored.
type place int

const (
	nowhere place = iota
	atKeyring
	atFile
)

// The first line of a secret's file.
const (
	keyringLine = "kept in the keyring\n"
	fileLine    = "kept here\n"
)

// record is the content of a secret's file.
type record struct {
	at    place
	value []byte // only for atFile
}

// unfinished is the suffix of a file that is being written.
const unfinished = ".new"

func (v *Vault) path(name string) string { return filepath.Join(v.cfg.Folder, name) }

// read returns the record of a secret, or ErrNone.
func (v *Vault) read(name string) (record, error) {
	if !vaultName().MatchString(name) {
		return record{}, fmt.Errorf("%q is not a valid name of a secret", name)
	}
	f, err := os.Open(v.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, ErrNone
	}
	if err != nil {
		return record{}, err
	}
	// One byte over the limit, so that a file that is too long is recognised as damaged.
	doc, err := io.ReadAll(io.LimitReader(f, maxValue+int64(len(fileLine))+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return record{}, err
	}
	if string(doc) == keyringLine {
		return record{at: atKeyring}, nil
	}
	value, ok := bytes.CutPrefix(doc, []byte(fileLine))
	if !ok || len(value) == 0 || len(value) > maxValue {
		return record{}, fmt.Errorf("%w: %s", ErrDamaged, v.path(name))
	}
	return record{at: atFile, value: value}, nil
}

// write replaces a record durably: it writes a new file, syncs it and renames it over the old one.
func (v *Vault) write(name string, r record) error {
	doc := []byte(keyringLine)
	if r.at == atFile {
		doc = append([]byte(fileLine), r.value...)
	}
	if err := os.MkdirAll(v.cfg.Folder, 0o700); err != nil {
		return err
	}
	temp := v.path(name) + unfinished
	if err := v.fill(temp, doc); err != nil {
		return errors.Join(err, absent(os.Remove(temp)))
	}
	// The rename is the moment of the change: a crash before it leaves the old record, one after it the new one.
	if err := os.Rename(temp, v.path(name)); err != nil {
		return errors.Join(err, absent(os.Remove(temp)))
	}
	return sys.SyncFolder(v.cfg.Folder)
}

// fill makes a new file that only its owner can read. It removes a leftover of a crash instead of reusing it, because that may have other
// permissions.
func (v *Vault) fill(temp string, doc []byte) error {
	if err := absent(os.Remove(temp)); err != nil {
		return err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// unlink removes the file of a secret and the leftover of a crash.
func (v *Vault) unlink(name string) error {
	err := errors.Join(absent(os.Remove(v.path(name)+unfinished)), absent(os.Remove(v.path(name))))
	if err != nil {
		return err
	}
	return absent(sys.SyncFolder(v.cfg.Folder))
}

// absent drops the error that a file does not exist.
func absent(err error) error {
	return sys.Except(err, fs.ErrNotExist)
}
