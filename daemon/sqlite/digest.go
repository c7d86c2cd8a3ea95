package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Digest is the suffix of the file with the SHA-256 of a copy, in the format of sha256sum(1).
const Digest = ".sha256"

// putDigest writes the digest of a finished copy.
func putDigest(path string) error {
	sum, err := digestOf(path)
	if err != nil {
		return err
	}
	return recordDigest(path, sum)
}

// recordDigest writes the digest file of a copy.
func recordDigest(path, sum string) error {
	part := path + Digest + Unfinished
	if err := os.WriteFile(part, []byte(sum+"  "+filepath.Base(path)+"\n"), 0o600); err != nil {
		return errors.Join(fmt.Errorf("write digest: %w", err), remove(part))
	}
	return finishFile(part, path+Digest)
}

// CheckDigest compares a copy with its digest file and returns the digest. It returns ErrCorrupt if they differ, and "" if there is no
// digest file.
func CheckDigest(path string) (string, error) {
	want, err := RecordedDigest(path)
	if err != nil || want == "" {
		return "", err
	}
	sum, err := digestOf(path)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(want, sum) {
		return "", fmt.Errorf("%w: its content has changed: its SHA-256 differs from the one in %s", ErrCorrupt, filepath.Base(path)+Digest)
	}
	return sum, nil
}

// RecordedDigest returns the digest that the digest file of a copy has, and "" if there is no such file. An
// empty one is ErrCorrupt.
func RecordedDigest(path string) (string, error) {
	text, err := os.ReadFile(path + Digest) // #nosec G304 -- beside the file that the caller names
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read digest: %w", err)
	}
	sum, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if sum == "" {
		return "", fmt.Errorf("%w: %s has no digest", ErrCorrupt, filepath.Base(path)+Digest)
	}
	return sum, nil
}

// digestOf returns the SHA-256 of a file.
func digestOf(path string) (sum string, err error) {
	f, err := os.Open(path) // #nosec G304 -- a copy, never the database itself
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
