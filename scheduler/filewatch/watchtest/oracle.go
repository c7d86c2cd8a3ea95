package watchtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/scheduler/filewatch"
)

// Compare says where the snapshot of a watch differs from the regular files that stand in a folder now, at any depth: nothing when
// no final content was lost. It reads all of them, and knows nothing of how the watcher works.
func Compare(ctx context.Context, s filewatch.Store, id int64, dir string) ([]string, error) {
	rows, err := s.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	// Collect the rows of files below the folder.
	seen := map[string]string{}
	for _, f := range rows {
		if !f.Dir && !f.Gone && strings.HasPrefix(f.Path, dir+string(filepath.Separator)) {
			seen[f.Path] = f.Hash
		}
	}
	var found []string
	// Compare each file with its row, and cross the row off.
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path) // #nosec G122 -- a test's own folder
		sum := sha256.Sum256(raw)
		switch hash, ok := seen[path]; {
		case !ok:
			found = append(found, fmt.Sprintf("%s is not in the snapshot", path))
		case hash != hex.EncodeToString(sum[:]):
			found = append(found, fmt.Sprintf("%s has other content than the snapshot says", path))
		}
		delete(seen, path)
		return err
	})
	// The rows that are left have no file. Links are not compared.
	for path, hash := range seen {
		if !strings.HasPrefix(hash, "link:") {
			found = append(found, fmt.Sprintf("%s is in the snapshot and not there", path))
		}
	}
	slices.Sort(found)
	return found, err
}
