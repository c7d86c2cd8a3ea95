package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	_ "modernc.org/sqlite/vec" // vec_distance_cosine

	"hob/daemon/sqlite"
)

// The rules of searching by vectors.
const (
	fusion       = 60              // k of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)
	mostNearest  = 100             // chunks that are nearest to a query
	farthest     = 0.9             // cosine distance; farther ones have nothing in common with the query
	nearScore    = 0.5             // of the nearest chunk, when it has no word of the query
	waitForQuery = 3 * time.Second // for the vector of a query; after that the search goes by words
	atOnce       = 64              // chunks of one request
)

// Vectors turns texts into vectors of length 1. Package embed implements it.
type Vectors interface {
	// Space names the space of the vectors; "": there is no server. Vectors of different spaces cannot be compared.
	Space(ctx context.Context) (string, error)
	// Embed returns the vectors of at most 64 texts, in their order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// errDimensions reports that a server gives vectors of another length than before.
var errDimensions = errors.New("the embedding server gives vectors of another length than before: hob memory reindex makes all of them again")

// embedder makes the vectors of an index and searches by them.
type embedder struct{ x *Index }

// embedMissing makes the vectors that are missing, in the background. A failure ends it; the next sync or search tries again.
func (v embedder) embedMissing() {
	if v.x.o.Vectors == nil || !v.x.embedding.CompareAndSwap(false, true) {
		return
	}
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	if v.x.done {
		return
	}
	v.x.group.Once("memory vectors", func() error {
		defer v.x.embedding.Store(false)
		made, err := v.embedAll(v.x.ctx)
		// With nothing to make, no server was asked: then this tells nothing of it.
		if v.x.ctx.Err() == nil && (made || err != nil) {
			v.setFault(err)
		}
		return nil // Status and Search say what failed
	})
}

// setFault notes why vectors are missing; nil: nothing failed.
func (v embedder) setFault(err error) {
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	v.x.fault = err
}

// embedAll makes vectors until every chunk has one, and reports whether it made any. Vectors of another space are thrown away first.
func (v embedder) embedAll(ctx context.Context) (made bool, err error) {
	space, err := v.x.o.Vectors.Space(ctx)
	if err != nil || space == "" {
		return false, err
	}
	for {
		left, err := v.embedSome(ctx, space)
		if err != nil || !left {
			return made, err
		}
		made = true
	}
}

// embedSome makes the vectors of the first chunks without one, and reports whether there were any. What others wrote in conversations gets none:
// a flood of it must cost nothing.
func (v embedder) embedSome(ctx context.Context, space string) (left bool, err error) {
	var ids []int64
	var texts []string
	err = v.x.use(ctx, func(db *sqlite.DB) error {
		if err := enterSpace(ctx, db, space); err != nil {
			return err
		}
		rs, err := db.Reader().QueryContext(ctx, "SELECT id, above, text FROM chunks WHERE own = 1 AND id NOT IN (SELECT chunk FROM vectors) ORDER BY id LIMIT ?", atOnce)
		texts, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (string, error) {
			var id int64
			var above, text string
			err := rs.Scan(&id, &above, &text)
			ids = append(ids, id)
			// Secrets that were learnt after the chunk was indexed must not leave the machine.
			return v.x.o.Redact(above + "\n" + text), err
		})
		return err
	})
	if err != nil || len(ids) == 0 {
		return false, err
	}
	list, err := v.x.o.Vectors.Embed(ctx, texts)
	if err != nil {
		return false, err
	}
	return true, v.x.use(ctx, func(db *sqlite.DB) error { return putVectors(ctx, db, space, ids, list) })
}

// enterSpace throws away the vectors of another space.
func enterSpace(ctx context.Context, db *sqlite.DB, space string) error {
	have, err := meta(ctx, db.Reader(), "space")
	if err != nil || have == space {
		return err
	}
	return db.Write(ctx, func(tx *sqlite.Conn) error {
		if err := tx.Run("DELETE FROM vectors"); err != nil {
			return err
		}
		return errors.Join(setMeta(tx, "space", space), setMeta(tx, "dimensions", ""))
	})
}

// putVectors stores vectors. A chunk that was removed meanwhile gets none, and a space that was left meanwhile keeps nothing.
func putVectors(ctx context.Context, db *sqlite.DB, space string, ids []int64, list [][]float32) error {
	return db.Write(ctx, func(tx *sqlite.Conn) error {
		var now, dimensions string
		if err := tx.One("SELECT coalesce((SELECT value FROM meta WHERE key = 'space'), ''), coalesce((SELECT value FROM meta WHERE key = 'dimensions'), '')", nil, &now, &dimensions); err != nil || now != space {
			return err
		}
		size := strconv.Itoa(len(list[0]))
		if dimensions != "" && dimensions != size {
			return errDimensions
		}
		for i, id := range ids {
			if err := tx.Run("INSERT OR REPLACE INTO vectors (chunk, vector) SELECT id, ? FROM chunks WHERE id = ?", blob(list[i]), id); err != nil {
				return err
			}
		}
		return setMeta(tx, "dimensions", size)
	})
}

// blob is a vector as sqlite-vec reads it: 32-bit floating-point numbers, little-endian.
func blob(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// nearest adds the chunks that are nearest to the query to those found by words, and ranks all of them by both. A note says why there are
// no vectors; the search goes by words then.
func (v embedder) nearest(ctx context.Context, rows *sqlite.Readers, q Query, list []candidate, out *Result) ([]candidate, error) {
	if v.x.o.Vectors == nil || q.Quick || !q.Owner {
		return list, nil
	}
	space, err := v.x.o.Vectors.Space(ctx)
	if err == nil && space == "" {
		return list, nil
	}
	var vector []float32
	if err == nil {
		vector, err = v.queryVector(ctx, rows, space, q.Text)
	}
	if err != nil {
		v.setFault(err)
		out.Notes = append(out.Notes, "without vectors: "+said(err))
		return list, nil
	}
	if vector != nil {
		v.setFault(nil) // the server has just answered
	}
	v.embedMissing()
	if vector == nil {
		out.Notes = append(out.Notes, "without vectors, which are still being made")
		return list, nil
	}
	where, args := q.filter()
	near, err := v.nearestChunks(ctx, rows, where, slices.Concat([]any{blob(vector)}, args, []any{mostNearest}))
	if err != nil {
		return nil, err
	}
	out.Vectors = true
	return fuse(list, near), nil
}

// nearestChunks reads the chunks that fit a condition and are nearest to a vector, the nearest first; raw is their distance.
func (v embedder) nearestChunks(ctx context.Context, rows *sqlite.Readers, where string, args []any) (list []candidate, err error) {
	rs, err := rows.QueryContext(ctx, `SELECT c.id, c.kind, coalesce(c.file, 0), c.path, coalesce(f.place, ''), c.session, c.seq, c.first, c.last, c.start, c.stop, c.above, c.text, c.own, c.said, c.sender, c.at, vec_distance_cosine(v.vector, ?) AS far
		FROM vectors v JOIN chunks c ON c.id = v.chunk LEFT JOIN files f ON f.id = c.file WHERE `+where+" ORDER BY far LIMIT ?", args...) // #nosec G202 -- constants
	g := v.x.o.Guard()
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (c candidate, err error) {
		var own bool
		err = rs.Scan(&c.id, &c.kind, &c.file, &c.path, &c.place, &c.session, &c.seq, &c.first, &c.last, &c.start, &c.stop, &c.above, &c.text, &own, &c.said, &c.sender, &c.at, &c.raw)
		c.judge(own)
		if c.kind == File {
			c.foreign = g.Foreign(c.place, "")
		}
		return c, err
	})
}

// queryVector returns the vector of a query, nil if no chunk has one yet.
func (v embedder) queryVector(ctx context.Context, rows *sqlite.Readers, space, text string) ([]float32, error) {
	have, err := meta(ctx, rows, "space")
	if err != nil {
		return nil, err
	}
	size, err := meta(ctx, rows, "dimensions")
	if err != nil || have != space || size == "" {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waitForQuery, fmt.Errorf("the embedding server did not answer within %s", waitForQuery))
	defer cancel()
	list, err := v.x.o.Vectors.Embed(ctx, []string{v.x.o.Redact(text)})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case strconv.Itoa(len(list[0])) != size:
		return nil, errDimensions
	}
	return list[0], nil
}

// fuse ranks chunks by reciprocal rank fusion of two orders: by words and by vectors. Own ones stay before foreign ones.
func fuse(words, near []candidate) []candidate {
	sums := map[int64]float64{}
	at := map[int64]int{}
	for i, c := range words {
		at[c.id], sums[c.id] = i, 1/float64(fusion+i+1)
	}
	for i, c := range near {
		if c.raw > farthest {
			break
		}
		share := 1 / float64(fusion+i+1)
		sums[c.id] += share
		score := math.Round(1000*nearScore*(fusion+1)*share) / 1000
		if j, ok := at[c.id]; ok {
			words[j].score = max(words[j].score, score)
			continue
		}
		c.score = score
		at[c.id], words = len(words), append(words, c)
	}
	slices.SortStableFunc(words, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(sums[b.id], sums[a.id]))
	})
	return words
}

// VectorStatus is the state of the vectors.
type VectorStatus struct {
	Space   string `json:"space"`           // of the server in the config; "": it could not be read
	Have    int    `json:"have"`            // chunks with a vector
	Missing int    `json:"missing"`         // chunks without one
	Fault   string `json:"fault,omitempty"` // why the last try failed; "": it did not
}

// vectorStatus counts the vectors, and starts to make those that are missing. It returns nil if no server is set.
func (x *Index) vectorStatus(ctx context.Context) (*VectorStatus, error) {
	if x.o.Vectors == nil {
		return nil, nil //nolint:nilnil // no server is no fault
	}
	space, err := x.o.Vectors.Space(ctx)
	switch {
	case err != nil:
		return &VectorStatus{Fault: said(err)}, nil
	case space == "":
		return nil, nil //nolint:nilnil // as above
	}
	embedder{x}.embedMissing()
	s := &VectorStatus{Space: space}
	err = x.use(ctx, func(db *sqlite.DB) error {
		return db.Reader().QueryRowContext(ctx, "SELECT (SELECT count(*) FROM vectors WHERE ? = (SELECT value FROM meta WHERE key = 'space')), (SELECT coalesce(sum(n), 0) FROM tally WHERE own = 1)", s.Space).Scan(&s.Have, &s.Missing)
	})
	s.Missing -= s.Have
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fault != nil {
		s.Fault = said(x.fault)
	}
	return s, err
}
