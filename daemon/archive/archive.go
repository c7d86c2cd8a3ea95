// Package archive writes and reads whole backups: one gzip-compressed tar file, encrypted with age (age-encryption.org/v1) unless its
// writer chose otherwise. The first entry says what the file is; the last one, the manifest, has the SHA-256 of each file before it. Other
// programs can read both layers. The package knows no home and no database.
//
// What it reads may be hostile: Extract writes only inside one folder, takes only ordinary files and folders, and stops when the content
// is larger than the disk, or much larger than a backup of that size can be.
package archive

import (
	"errors"
	"time"

	"filippo.io/age"

	"hob/daemon/event"
)

// Format is the version of the layout that this package writes, and the newest that it reads.
const Format = 1

// The names of the first and the last entry.
const (
	headName     = "hob-backup.json"
	manifestName = "manifest.json"
)

// Head is the first entry: enough to refuse a file before anything is extracted.
type Head struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the hob that made it
	Made    time.Time `json:"made"`
	Secrets bool      `json:"secrets"`            // whether secrets are in it
	LeftOut []string  `json:"left_out,omitempty"` // the secrets that are not: files, and references of the config
}

// File is a file of a backup. Its path is relative and has slashes.
type File struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Changed bool   `json:"changed,omitempty"` // it was written to while it was copied
}

// Manifest is the last entry.
type Manifest struct {
	Head
	Files   []File   `json:"files"`
	Skipped []string `json:"skipped,omitempty"` // links and special files, which a backup does not contain
}

// Key encrypts or decrypts. At most one field is set; the zero value means a file that is not encrypted.
type Key struct {
	Passphrase string
	Recipient  string // age1…; only to write
	Identity   string // the content of an age identity file; only to read
}

// recipient returns who may read what is written, nil: everybody.
func (k Key) recipient() (age.Recipient, error) {
	switch {
	case k.Passphrase != "":
		return age.NewScryptRecipient(k.Passphrase)
	case k.Recipient == "":
		return nil, nil //nolint:nilnil // nobody in particular
	}
	r, err := age.ParseX25519Recipient(k.Recipient)
	if err != nil {
		return nil, &event.Fault{Kind: event.Invalid, Text: "that recipient is not one of age", Hint: "it begins with age1; age-keygen makes a pair of keys", Err: err}
	}
	return r, nil
}

// damaged is the error of a file that is not what was written.
func damaged(err error, format string, args ...any) error {
	f := event.NewFault(event.Clash, "take another backup: hob backup list shows those of this home", format, args...)
	f.Err = errors.Join(ErrDamaged, err)
	return f
}

// Errors of reading, besides faults that only concern people.
var (
	ErrDamaged = errors.New("the backup is damaged")
	ErrHostile = errors.New("the backup contains what no backup of hob contains")
)
