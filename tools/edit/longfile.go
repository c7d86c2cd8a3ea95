package edit

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"hob/daemon/secret"
)

// Limits of edits in long files.
const (
	longFile  = 16 << 20  // bytes; in larger files edit holds only the changes in memory
	maxLong   = 1 << 30   // bytes; editing larger files would take too long for a call
	maxPlaces = 250_000   // replacements in one long file
	headSize  = 4<<20 + 1 // bytes of a long file used for hints and remembered in Seen
	farEnding = 1 << 20   // bytes around a place that are searched for its line ending
)

// replace makes one replacement in a file and returns how many places changed. Errors: *ambiguous,
// errAbsent, errSame, errMany.
func (f *file) replace(ctx context.Context, r Replacement) (int, error) {
	if f.long == nil {
		out, n, err := replace(f.now, r)
		if errors.Is(err, errAbsent) {
			n = 1
			out, f.differ, err = similar(f.now, r)
		}
		if err == nil {
			f.now = out
		}
		return n, err
	}
	old, put, err := r.texts()
	if err != nil {
		return 0, err
	}
	found, put, err := f.locate(ctx, old, put)
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		return 0, errAbsent
	case len(found) > 1 && !r.ReplaceAll:
		return 0, f.several(ctx, found)
	}
	found = dropOverlaps(found)
	same := []byte(put)
	return len(found), f.long.Replace(found, func(s span) ([]byte, error) {
		// Most texts need no look at their surroundings, and all places share one slice.
		if !adapts(old, put) {
			return same, nil
		}
		return f.ending(s, old, put)
	})
}

// locate is the function locate for a long file.
func (f *file) locate(ctx context.Context, old, put string) ([]span, string, error) {
	found, err := f.long.Find(ctx, []byte(old), maxPlaces)
	if err != nil || len(found) > 0 {
		return found, put, err
	}
	// With a limit of 0 the search ends at the first CR LF, with errMany.
	_, err = f.long.Find(ctx, []byte("\r\n"), 0)
	crlf := errors.Is(err, errMany)
	if err != nil && !crlf {
		return nil, put, err
	}
	if crlf || strings.Contains(old, "\r\n") {
		found, err = f.long.FindFlat(ctx, flatten([]byte(old)), maxPlaces)
		if err == nil && len(found) > 0 && !crlf {
			put = string(flatten([]byte(put)))
		}
		if err != nil || len(found) > 0 {
			return found, put, err
		}
	}
	last, ok := strings.CutSuffix(old, "\n")
	if !ok || last == "" {
		return nil, put, nil
	}
	size := f.long.Size()
	end, err := f.long.Part(span{From: max(0, size-int64(len(last))), To: size})
	if err != nil || string(end) != last {
		return nil, put, err
	}
	return []span{{From: size - int64(len(last)), To: size}}, strings.TrimSuffix(put, "\n"), nil
}

// ending is the function ending for a long file. It reads only as far as the next line break.
func (f *file) ending(s span, old, put string) ([]byte, error) {
	// Lines are usually short. Only a long one needs a larger part of the file.
	for far := int64(4 << 10); ; far *= 16 {
		from := max(0, s.From-far)
		data, err := f.long.Part(span{From: from, To: s.To + far})
		if err != nil {
			return nil, err
		}
		if far >= farEnding || bytes.IndexByte(data[s.From-from:], '\n') >= 0 || from == 0 && s.To+far >= f.long.Size() {
			return []byte(ending(data, span{From: s.From - from, To: s.To - from}, old, put)), nil
		}
	}
}

// several builds the error for a text that occurs more than once.
func (f *file) several(ctx context.Context, found []span) error {
	var offs []int64
	for _, s := range found[:min(len(found), shownLines)] {
		offs = append(offs, s.From)
	}
	lines, err := f.long.Lines(ctx, offs...)
	if err != nil {
		return err
	}
	for i := range lines {
		lines[i]++
	}
	return &ambiguous{n: len(found), lines: lines}
}

// head returns the beginning of a file in its current state, at most n bytes.
func (f *file) head(n int) ([]byte, error) {
	if f.long != nil {
		return f.long.Head(n)
	}
	return f.now[:min(len(f.now), n)], nil
}

// placeholder returns the name of a secret's placeholder that the file now contains more often than
// before, or "".
func (f *file) placeholder(ctx context.Context) (string, error) {
	if f.long == nil {
		return secret.Placeholder(f.was, f.now), nil
	}
	const reach = 256 // a placeholder may extend beyond the inserted text
	var marks []string
	for _, s := range f.long.Inserted() {
		part, err := f.long.Part(span{From: max(0, s.From-reach), To: s.To + reach})
		if err != nil {
			return "", err
		}
		for _, m := range secret.Placeholders(part) {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
	}
	for _, m := range marks {
		was, err := f.long.Source().Find(ctx, []byte(m), maxPlaces)
		if err != nil {
			return "", err
		}
		// errMany means more places than before, which is all that matters here.
		now, err := f.long.Find(ctx, []byte(m), len(was))
		if errors.Is(err, errMany) {
			return m, nil
		}
		if err != nil || len(now) > len(was) {
			return m, err
		}
	}
	return "", nil
}

// longDiff is unified for a long file. It reads only the changed part and its surroundings.
func (f *file) longDiff(ctx context.Context) (diff string, added, removed int, err error) {
	const reach = 256 << 10
	source := f.long.Source()
	was, now := f.long.Middle()
	// Too far apart for a diff: only the lines are counted.
	if max(was.To-was.From, now.To-now.From) > maxWindow {
		a, err := source.Lines(ctx, was.From, was.To)
		if err != nil {
			return "", 0, 0, err
		}
		b, err := f.long.Lines(ctx, now.From, now.To)
		if err != nil {
			return "", 0, 0, err
		}
		return tooFarApart(f.place.Path, f.place.Path), b[1] - b[0], a[1] - a[0], nil
	}
	from := max(0, was.From-reach)
	a, err := source.Part(span{From: from, To: was.To + reach})
	if err != nil {
		return "", 0, 0, err
	}
	b, err := f.long.Part(span{From: from, To: now.To + reach})
	if err != nil {
		return "", 0, 0, err
	}
	if i := bytes.IndexByte(a[:was.From-from], '\n') + 1; from > 0 && i > 0 { // start at a whole line
		a, b, from = a[i:], b[i:], from+int64(i)
	}
	lines, err := source.Lines(ctx, from)
	if err != nil {
		return "", 0, 0, err
	}
	diff, added, removed = unified(f.place.Path, f.place.Path, a, b, lines[0])
	return diff, added, removed, nil
}
