package runtime

import (
	"unicode/utf8"

	"hob/tools"
)

// recordedPiece is how many bytes of output are handed to a recording at once.
const recordedPiece = 1 << 20

// recording writes the beginning of an output into an artifact while its command still runs, so that hashing, writing and syncing take no
// time afterwards. It begins when the output is certainly too long for a result. A shorter output leaves it without a file.
type recording struct {
	create func() (tools.ArtifactWriter, error) // nil: the store takes whole artifacts only
	after  int                                  // bytes of output before the recording begins
	limit  int                                  // bytes that are kept
	pieces chan []byte                          // has room for all pieces, so that the reader of the output never waits
	done   chan struct{}                        // closed after the last piece

	handed int // bytes handed over
	writer tools.ArtifactWriter
	err    error
}

// newRecording returns the recording of an output.
func newRecording(store Artifacts, l Limits) *recording {
	r := &recording{after: utf8.UTFMax * max(l.Keep, l.Preview), limit: l.ArtifactBytes, pieces: make(chan []byte, l.ArtifactBytes/recordedPiece+2), done: make(chan struct{})}
	if s, ok := store.(interface {
		Create() (tools.ArtifactWriter, error)
	}); ok {
		r.create = s.Create
	}
	return r
}

// take hands over the new part of the bytes that are kept. With all it also hands over a piece that is not full.
func (r *recording) take(kept []byte, all bool) {
	if fresh := len(kept) - r.handed; r.create != nil && len(kept) > r.after && fresh > 0 && (all || fresh >= recordedPiece || len(kept) == r.limit) {
		r.pieces <- kept[r.handed:]
		r.handed = len(kept)
	}
}

// run writes the pieces until the output has ended.
func (r *recording) run() error {
	defer close(r.done)
	written := 0
	for piece := range r.pieces {
		if r.writer == nil && r.err == nil {
			r.writer, r.err = r.create()
		}
		if r.err == nil {
			_, r.err = r.writer.Write(piece)
		}
		if written += len(piece); r.err == nil && written == r.limit {
			r.err = r.writer.Sync() // the command still prints bytes that are not kept
		}
	}
	return nil
}

// result waits for the last piece and passes the written artifact on; nil if there is none.
func (r *recording) result() (tools.ArtifactWriter, error) {
	<-r.done
	w := r.writer
	if r.writer = nil; r.err != nil && w != nil {
		_ = w.Discard() // the first error counts
		w = nil
	}
	return w, r.err
}

// discard removes the written file, if the result was not used.
func (r *recording) discard() error {
	if w, _ := r.result(); w != nil {
		return w.Discard()
	}
	return nil
}
