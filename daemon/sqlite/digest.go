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

// Digest ends the name of the file beside a copy that holds its SHA-256, in the form of sha256sum(1).
const Digest = ".sha256"

// putDigest writes the digest of a finished copy beside it.
func putDigest(path string) error {
	sum, err := digestOf(path)
	if err != nil {
		return err
	}
	part := path + Digest + Unfinished
	if err := os.WriteFile(part, []byte(sum+"  "+filepath.Base(path)+"\n"), 0o600); err != nil {
		return errors.Join(fmt.Errorf("write digest: %w", err), remove(part))
	}
	return finishFile(part, path+Digest)
}

// CheckDigest compares a copy with the digest beside it, and returns that. ErrCorrupt: they differ; "": there is no digest.
func CheckDigest(path string) (string, error) {
	text, err := os.ReadFile(path + Digest) // #nosec G304 -- beside the file that the caller names
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read digest: %w", err)
	}
	want, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	sum, err := digestOf(path)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(want, sum) {
		return "", fmt.Errorf("%w: its content is not what was written: its SHA-256 is not the one in %s", ErrCorrupt, filepath.Base(path)+Digest)
	}
	return sum, nil
}

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
