package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/sqlite"
)

// maxSummed is the largest file, in bytes, whose copies are recognized.
const maxSummed = 256 << 20

// markedContent describes a marked path. After a rename the inode identifies the file; a copy is identified by size and hash.
type markedContent struct {
	why, inode, sum string // inode and sum are "" if unknown
	size            int64
	folder          bool
}

// Marks is the table of files with foreign content. It has a copy in memory, because every path that a tool uses is looked up. It is safe
// for concurrent use.
type Marks struct {
	// Sum hashes a file or folder, except hob's own. It must be set before the first use. If it is nil, copies are not recognized.
	Sum func(path string) (string, error)

	core    *core
	mu      sync.RWMutex
	list    map[string]markedContent  // by path
	inodes  map[string]string         // inode → path
	sizes   map[int64]map[string]bool // size → paths of files with a sum
	folders map[string]bool           // paths of folders
	found   map[string]bool           // unmarked paths at which a marked file was found
	shown   map[string]string         // path → hash that the owner saw last
}

// loadMarks reads all marks.
func loadMarks(ctx context.Context, c *core) (*Marks, error) {
	m := &Marks{core: c, list: map[string]markedContent{}, inodes: map[string]string{}, sizes: map[int64]map[string]bool{}, folders: map[string]bool{}, found: map[string]bool{}, shown: map[string]string{}}
	rs, err := c.read().QueryContext(ctx, "SELECT path, why, inode, sha256, size, folder FROM marks")
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (c markedContent, err error) {
		var path string
		if err = rs.Scan(&path, &c.why, &c.inode, &c.sum, &c.size, &c.folder); err == nil {
			m.put(path, c)
		}
		return c, err
	})
	return m, err
}

// listMarks reads the marks by path, without hashes.
func listMarks(ctx context.Context, read *sqlite.Readers) ([]api.Mark, error) {
	rs, err := read.QueryContext(ctx, "SELECT path, why, coalesce(turn, 0), at FROM marks ORDER BY path")
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (m api.Mark, err error) {
		return m, rs.Scan(&m.Path, &m.Why, &m.Turn, sqlite.Stamp(&m.At))
	})
}

// Why returns the reason that the content of a path is marked, or "". It checks the path and its parent folders, then the inode, and then,
// if a marked file has the same size, the content.
func (m *Marks) Why(path string) string {
	m.mu.RLock()
	why, none := m.named(path), len(m.list) == 0
	m.mu.RUnlock()
	if why != "" || none {
		return why
	}
	return m.moved(path)
}

// named returns why a path is marked, through its own mark or that of a folder above it; "" if it is not.
func (m *Marks) named(path string) string {
	for {
		if c, ok := m.list[path]; ok {
			return c.why
		}
		up := filepath.Dir(path)
		if up == path {
			return ""
		}
		path = up
	}
}

// moved is Why for a path without a mark of its own.
func (m *Marks) moved(path string) string {
	p, err := fsguard.Look(path)
	if err != nil {
		return ""
	}
	m.mu.RLock()
	from, folders := m.inodes[p.ID], len(m.folders) > 0
	same := slices.Collect(maps.Keys(m.sizes[p.Size]))
	m.mu.RUnlock()
	// A parent folder may have been moved with its content.
	for dir := filepath.Dir(path); folders && from == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if p, err := fsguard.Look(dir); err == nil {
			m.mu.RLock()
			from = m.inodes[p.ID]
			m.mu.RUnlock()
		}
	}
	// A copy has another inode: compare the content with marked files of the same size. The lock is not held while the file is read.
	sum := ""
	if from == "" && len(same) > 0 && p.Mode.IsRegular() {
		sum = m.sum(path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range same {
		if sum != "" && m.list[other].sum == sum {
			from = other
		}
	}
	c, ok := m.list[from]
	if !ok {
		return ""
	}
	// Paths lists this path as well, while the content is still there.
	m.found[path] = true
	return c.why + ", as " + from
}

// sum returns the hash of a path, or "" if it cannot be read.
func (m *Marks) sum(path string) string {
	if m.Sum == nil {
		return ""
	}
	sum, err := m.Sum(path)
	if err != nil {
		return ""
	}
	return sum
}

// Paths lists all marked paths, and the paths at which a marked file was found and still is, in no order.
func (m *Marks) Paths() []string {
	m.mu.RLock()
	paths, found := slices.Collect(maps.Keys(m.list)), slices.Collect(maps.Keys(m.found))
	m.mu.RUnlock()
	for _, path := range found {
		if m.moved(path) != "" {
			paths = append(paths, path)
			continue
		}
		m.mu.Lock()
		delete(m.found, path)
		m.mu.Unlock()
	}
	return paths
}

// Add marks a path with the content that Note has seen. The mark in memory counts at once, even if the transaction fails: a needless mark
// does no harm.
func (m *Marks) Add(tx *Tx, turn int64, path, why string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("mark %q: want an absolute path", path)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.list[path]
	c.why = why
	m.put(path, c)
	return tx.Run(`INSERT INTO marks (path, why, turn, at, size, inode, sha256, folder) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE
		SET why = excluded.why, turn = excluded.turn, at = excluded.at, size = excluded.size, inode = excluded.inode, sha256 = excluded.sha256, folder = excluded.folder`,
		path, why, sqlite.Ref(turn), sqlite.Micros(tx.Now), c.size, c.inode, c.sum, c.folder)
}

// Note reads the content of a path and marks it in memory, before the transaction that stores the mark.
func (m *Marks) Note(path, why string) {
	c := markedContent{why: why}
	if p, err := fsguard.Look(path); err == nil {
		c.inode, c.size, c.folder = p.ID, p.Size, p.Mode.IsDir()
		if p.Mode.IsRegular() && p.Size > 0 && p.Size <= maxSummed { // all empty files are equal
			c.sum = m.sum(path)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(path, c)
}

// Mark marks a path, which may not be there yet, with the content that it has now.
func (m *Marks) Mark(ctx context.Context, path, why string) error {
	if !filepath.IsAbs(path) {
		return event.NewFault(event.Invalid, "want an absolute path", "mark %q", path)
	}
	m.Note(path, why)
	return m.core.write(ctx, func(tx *Tx) error { return m.Add(tx, 0, path, why) })
}

// put adds a mark and its entries in the indexes by inode and by size, with which copies and hard links are found.
func (m *Marks) put(path string, c markedContent) {
	// An older entry of the path leaves the indexes first: its inode and size may have changed.
	m.drop(path)
	m.list[path] = c
	if c.inode != "" {
		m.inodes[c.inode] = path
	}
	if c.folder {
		m.folders[path] = true
	}
	if c.sum != "" {
		if m.sizes[c.size] == nil {
			m.sizes[c.size] = map[string]bool{}
		}
		m.sizes[c.size][path] = true
	}
}

// drop removes the mark of a path from the list and the indexes.
func (m *Marks) drop(path string) {
	c := m.list[path]
	if m.inodes[c.inode] == path {
		delete(m.inodes, c.inode)
	}
	if delete(m.sizes[c.size], path); len(m.sizes[c.size]) == 0 {
		delete(m.sizes, c.size)
	}
	delete(m.folders, path)
	delete(m.list, path)
}

// Show adds the hashes to a list for the owner, and remembers them.
func (m *Marks) Show(list []api.Mark) {
	for i := range list {
		list[i].Hash = m.sum(list[i].Path)
		m.mu.Lock()
		m.shown[list[i].Path] = list[i].Hash
		m.mu.Unlock()
	}
}

// Accepts checks that a marked path still holds the content that the owner means: the content with the given hash prefix, or without a hash
// the content last shown, or else the content that was marked.
func (m *Marks) Accepts(path, hash string) error {
	now := m.sum(path)
	m.mu.RLock()
	c, marked := m.list[path]
	seen, shown := m.shown[path]
	m.mu.RUnlock()
	if !marked {
		// The path is foreign by its folder, or as a moved or copied file. Only the marked path itself can be accepted.
		if why := m.Why(path); why != "" {
			return event.NewFault(event.Missing, "accept the path that is named here", "%s has no mark of its own; it counts as foreign because it was %s", path, why)
		}
		return nil // dropMark reports that there is no mark
	}
	switch {
	case hash != "" && len(hash) >= shortHash && strings.HasPrefix(now, hash):
		return nil
	case hash == "" && (shown && seen == now || !shown && c.sum != "" && c.sum == now):
		return nil
	case hash == "" && !shown && c.sum == "":
		return event.NewFault(event.Clash, "look at it: hob trust list; then accept it again", "hob has not shown you yet what %s holds", path)
	}
	return event.NewFault(event.Clash, "look at it again: hob trust list; then accept what it shows", "%s does not hold any more what you accept", path)
}

// shortHash is the shortest accepted prefix of a hash, in digits.
const shortHash = 12

// dropMark removes a mark and those below it inside a transaction: the owner trusts the content. Forget follows after the commit.
func dropMark(tx *Tx, path string) error {
	n, err := tx.Change("DELETE FROM marks WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || ?2", path, string(filepath.Separator))
	if err == nil && n == 0 {
		return event.NewFault(event.Missing, "hob trust list shows them", "%s is not marked", path)
	}
	return err
}

// Forget removes a mark and those below it from memory.
func (m *Marks) Forget(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for one := range m.list {
		if one == path || strings.HasPrefix(one, path+string(filepath.Separator)) {
			m.drop(one)
			delete(m.shown, one)
		}
	}
}

// List returns the files with foreign content. With hashes it is the list that the owner reads before accepting a file.
func (m *Marks) List(ctx context.Context, hashes bool) ([]api.Mark, error) {
	list, err := listMarks(ctx, m.core.read())
	if err == nil && hashes {
		m.Show(list)
	}
	return list, err
}

// Accept records that the owner trusts a marked file: the content with this hash, or without a hash the content last shown.
func (m *Marks) Accept(ctx context.Context, path, hash string) error {
	if err := m.Accepts(path, hash); err != nil {
		return err
	}
	// The mark leaves memory only after the commit. A failed commit must not make the file trusted.
	err := m.core.write(ctx, func(tx *Tx) error { return dropMark(tx, path) })
	if err == nil {
		m.Forget(path)
	}
	return err
}
