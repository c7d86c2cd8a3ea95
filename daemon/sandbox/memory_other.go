//go:build !linux

package sandbox

import (
	"errors"
	"os"
)

// memory is a file that has no name any more, so that nobody but who inherits it reads it.
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
