// Package trust keeps what the database knows of foreign text: which conversations have it in them, and which files were written
// after it had been read. It decides nothing; it works inside the transactions of package store.
package trust

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"hob/daemon/event"
	"hob/daemon/store/db"
)

// Mark is a path whose content counts as foreign.
type Mark struct {
	Path string    `json:"path"`
	Why  string    `json:"why"`
	Turn int64     `json:"turn,omitempty"`
	At   time.Time `json:"at"`
}

// Marks is the table of marks, with a copy in memory: every path that a tool touches is looked up. Make it with Load. It is safe
// for concurrent use.
type Marks struct {
	mu   sync.RWMutex
	list map[string]string // path → why
}

// Load reads all marks.
func Load(ctx context.Context, read *db.Readers) (*Marks, error) {
	list, err := List(ctx, read)
	m := &Marks{list: make(map[string]string, len(list))}
	for _, one := range list {
		m.list[one.Path] = one.Why
	}
	return m, err
}

// List reads the marks by path.
func List(ctx context.Context, read *db.Readers) ([]Mark, error) {
	rs, err := read.QueryContext(ctx, "SELECT path, why, coalesce(turn, 0), at FROM marks ORDER BY path")
	return db.Collect(rs, err, func(rs *sql.Rows) (Mark, error) {
		var m Mark
		err := rs.Scan(&m.Path, &m.Why, &m.Turn, db.Stamp(&m.At))
		return m, err
	})
}

// Why says why a path, or a folder that it lies in, is marked; "" when none is.
func (m *Marks) Why(path string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.list) == 0 {
		return ""
	}
	for {
		if why, ok := m.list[path]; ok {
			return why
		}
		up := filepath.Dir(path)
		if up == path {
			return ""
		}
		path = up
	}
}

// Paths lists all marked paths, in no order.
func (m *Marks) Paths() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	paths := make([]string, 0, len(m.list))
	for p := range m.list {
		paths = append(paths, p)
	}
	return paths
}

// Add marks a path. In memory it holds at once, also when the transaction fails: too many marks do no harm.
func (m *Marks) Add(tx *db.Tx, turn int64, path, why string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("mark %q: want an absolute path", path)
	}
	m.Note(path, why)
	return tx.Run("INSERT INTO marks (path, why, turn, at) VALUES (?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET why = excluded.why, turn = excluded.turn, at = excluded.at",
		path, why, db.Ref(turn), db.Micros(tx.Now))
}

// Note marks a path in memory, ahead of the transaction that stores the mark.
func (m *Marks) Note(path, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list[path] = why
}

// Drop takes marks away: the owner says that he trusts what is there. It is the deed of a transaction; Forget follows its commit.
func Drop(tx *db.Tx, path string) error {
	n, err := tx.Change("DELETE FROM marks WHERE path = ?", path)
	if err == nil && n == 0 {
		return event.NewFault(event.Missing, "hob trust list shows them", "%s is not marked", path)
	}
	return err
}

// Forget takes a path out of the copy in memory, after Drop was committed.
func (m *Marks) Forget(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, path)
}
