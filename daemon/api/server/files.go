package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// tokenLength is in characters of 5 bits each: 260 bits.
const tokenLength = 52

// keepToken returns the token in the file, or makes one and writes it. The token stays the same over restarts,
// so that programs of the owner can keep it.
// A file with a shorter or broken text counts as missing, so a new token replaces it.
func keepToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read token: %w", err)
	}
	if token := strings.TrimSpace(string(b)); len(token) >= tokenLength && !strings.ContainsAny(token, " \t\r\n") {
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("guard token: %w", err)
		}
		return token, nil
	}
	token := sys.RandomIDs().Code(tokenLength)
	return token, writeWhole(path, token+"\n", (*os.File).Sync)
}

// writeWhole puts text in place of a file, for the owner only: after a crash of hob the old or the new one is there. After a power failure that is
// so only if sync waits for the disk.
func writeWhole(path, text string, sync func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), os.Remove(f.Name()))
		}
	}()
	if _, err = f.WriteString(text); err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fail.Point("address.temp")
	return os.Rename(f.Name(), path)
}
