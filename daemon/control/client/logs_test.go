package client_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hob/daemon/control/client"
	"hob/daemon/logfile"
)

// Metrics are of no interest here.
func (w *world) Metrics(context.Context) ([]byte, error) { return nil, nil }

// LogFile is a log that the tests write.
func (w *world) LogFile() string { return filepath.Join(os.TempDir(), "hob-no-such-log", "hob.log") }
