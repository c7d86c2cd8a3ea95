//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

// memory returns a file that holds text and whose name is already removed. Only processes that inherit it can read it.
func memory(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "hob")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
