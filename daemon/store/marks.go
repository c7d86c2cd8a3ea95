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

// maxSummed is the largest file, in bytes, whose copies are known as such.
const maxSummed = 256 << 20

// markedContent is what a path was marked with. Under another name the file is known by its inode, a copy by its size and hash.
type markedContent struct {
	why, inode, sum string // inode and sum are "" when they are not known
	size            int64
	folder          bool
}

// Marks is the table of marks, with a copy in memory: every path that a tool touches is looked up. Make it with Load. It is safe
// for concurrent use.
type Marks struct {
	// Sum hashes a file or a folder, and opens nothing of hob's own. It is set before the first use; nil: copies are not recognized.
	Sum func(path string) (string, error)

	mu      sync.RWMutex
	list    map[string]markedContent  // by path
	inodes  map[string]string         // inode → path
	sizes   map[int64]map[string]bool // size → paths of files with a sum
	folders map[string]bool           // paths of folders
	found   map[string]bool           // paths without a mark at which a marked file was seen
	shown   map[string]string         // path → hash, as the owner has seen it last
}

// loadMarks reads all marks.
func loadMarks(ctx context.Context, read *sqlite.Readers) (*Marks, error) {
	m := &Marks{list: map[string]markedContent{}, inodes: map[string]string{}, sizes: map[int64]map[string]bool{}, folders: map[string]bool{}, found: map[string]bool{}, shown: map[string]string{}}
	rs, err := read.QueryContext(ctx, "SELECT path, why, inode, sha256, size, folder FROM marks")
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
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (api.Mark, error) {
		var m api.Mark
		err := rs.Scan(&m.Path, &m.Why, &m.Turn, sqlite.Stamp(&m.At))
		return m, err
	})
}

// Why says why what a path holds is marked; "" when it is not: by the path, or that of a folder that it lies in, then by the inode,
// then, where a marked file has its size, by the content.
func (m *Marks) Why(path string) string {
	m.mu.RLock()
	why, none := m.named(path), len(m.list) == 0
	m.mu.RUnlock()
	if why != "" || none {
		return why
	}
	return m.moved(path)
}

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

// moved is Why for a path that has no mark itself.
func (m *Marks) moved(path string) string {
	p, err := fsguard.Look(path)
	if err != nil {
		return ""
	}
	m.mu.RLock()
	from, folders := m.inodes[p.ID], len(m.folders) > 0
	same := slices.Collect(maps.Keys(m.sizes[p.Size]))
	m.mu.RUnlock()
	for dir := filepath.Dir(path); folders && from == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if p, err := fsguard.Look(dir); err == nil {
			m.mu.RLock()
			from = m.inodes[p.ID]
			m.mu.RUnlock()
		}
	}
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
	m.found[path] = true
	return c.why + ", as " + from
}

// sum is "" where nothing can be read.
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

// Paths lists all marked paths, and those at which a marked file was seen and still is, in no order.
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

// Add marks a path, with what Note has seen there. In memory it holds at once, also when the transaction fails: too many marks do no harm.
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

// Note looks at what a path holds and marks it in memory, ahead of the transaction that stores the mark.
func (m *Marks) Note(path, why string) {
	c := markedContent{why: why}
	if p, err := fsguard.Look(path); err == nil {
		c.inode, c.size, c.folder = p.ID, p.Size, p.Mode.IsDir()
		if p.Mode.IsRegular() && p.Size > 0 && p.Size <= maxSummed { // empty files are all alike
			c.sum = m.sum(path)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(path, c)
}

func (m *Marks) put(path string, c markedContent) {
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

// Show adds the hashes to a list that the owner is going to see.
func (m *Marks) Show(list []api.Mark) {
	for i := range list {
		list[i].Hash = m.sum(list[i].Path)
		m.mu.Lock()
		m.shown[list[i].Path] = list[i].Hash
		m.mu.Unlock()
	}
}

// Accepts returns a fault unless a marked path holds what the owner means: what hash begins, or, when he gives none, what Show has shown
// last, or else what was marked.
func (m *Marks) Accepts(path, hash string) error {
	now := m.sum(path)
	m.mu.RLock()
	c, marked := m.list[path]
	seen, shown := m.shown[path]
	m.mu.RUnlock()
	if !marked {
		if why := m.Why(path); why != "" {
			return event.NewFault(event.Missing, "accept the path that is named here", "%s has no mark of its own; it counts as foreign because it was %s", path, why)
		}
		return nil // there is nothing to drop, which Drop says
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

// shortHash is how many digits of a hash are enough.
const shortHash = 12

// dropMark takes marks away: the owner says that he trusts what is there. It is the deed of a transaction; Forget follows its commit.
func dropMark(tx *Tx, path string) error {
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
	m.drop(path)
	delete(m.shown, path)
}
