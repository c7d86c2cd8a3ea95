package search

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools"
)

// maxContent limits the bytes of results in one answer. The next offset continues with the rest.
const maxContent = 96 << 10

// GrepOutput is the output of grep.
type GrepOutput struct {
	Mode     string      `json:"mode" jsonschema:"content, files_with_matches or count"`
	Lines    []FoundLine `json:"lines,omitempty" jsonschema:"of content: by path and number"`
	Files    []FoundFile `json:"files,omitempty" jsonschema:"of files_with_matches and count: by path"`
	Shown    int         `json:"shown" jsonschema:"results shown"`
	Total    int         `json:"total" jsonschema:"lines that match, in all files; of files_with_matches: files"`
	InFiles  int         `json:"in_files" jsonschema:"files that hold a match"`
	Next     int         `json:"next,omitempty" jsonschema:"offset to continue with; left out at the end"`
	Unread   int         `json:"unread,omitempty" jsonschema:"files and folders that could not be read"`
	Withheld int         `json:"withheld,omitempty" jsonschema:"files and folders with keys or credentials: searched only when named by path"`
	Binary   bool        `json:"binary,omitempty" jsonschema:"the file that was named is binary"`
}

// FoundLine is a line that matches, or one near it.
type FoundLine struct {
	Path    string `json:"path"`
	Line    int    `json:"line" jsonschema:"from 1"`
	Text    string `json:"text"`
	Context bool   `json:"context,omitempty" jsonschema:"it does not match; it stands near one that does"`
	Cut     bool   `json:"cut,omitempty" jsonschema:"only a part of the line"`
}

// FoundFile is a file that contains a match.
type FoundFile struct {
	Path  string `json:"path"`
	Count int    `json:"count,omitempty" jsonschema:"lines that match"`
}

// result formats the requested page.
func (r *grepRun) result() (tools.Result, error) {
	d := drawing{run: r, out: GrepOutput{
		Mode: r.OutputMode, Total: r.found.total, InFiles: r.found.files, Unread: int(r.filter.unread.Load()), Binary: r.binary,
	}}
	// For content a result is a line, otherwise a file.
	all := r.found.files
	if r.found.content {
		all = r.found.total
	}
	if r.OutputMode == modeFiles {
		d.out.Total = r.found.files
	}
	for _, h := range r.page() {
		if d.text.Len() > maxContent {
			break
		}
		if err := r.ctx.Err(); err != nil {
			return tools.Result{}, err
		}
		d.hit(h)
	}
	if next := r.Offset + d.passed; d.passed > 0 && next < all {
		d.out.Next = next
	}
	d.out.Withheld = int(r.filter.withheld.Load())
	d.close(all)
	return tools.Result{Content: strings.TrimRight(d.text.String(), "\n"), Data: d.out, Foreign: d.foreign}, nil
}

// drawing is a page of results under construction.
type drawing struct {
	run     *grepRun
	out     GrepOutput
	text    strings.Builder
	passed  int // results formatted or withheld
	foreign string

	encodings []string // of files that are not UTF-8
}

// hit formats the matches of one file, after a final check whether the file may be shown.
func (d *drawing) hit(h hit) {
	// The file may have been replaced since it was searched, so the guard checks it again.
	foreign, ok := d.run.filter.shows(h.path)
	if !ok {
		// A withheld result counts as passed, so that the next offset is correct.
		d.passed += d.run.found.results(h)
		d.run.filter.withheld.Add(1)
		return
	}
	d.foreign = cmp.Or(d.foreign, foreign)
	path := d.run.names.of(h.path)
	if !h.encoding.UTF8() && len(d.encodings) < 5 {
		d.encodings = append(d.encodings, tools.ShownPath(path)+" is "+h.encoding.String())
	}
	switch {
	case d.run.OutputMode == modeFiles:
		d.out.Files = append(d.out.Files, FoundFile{Path: path})
		fmt.Fprintf(&d.text, "%s\n", tools.ShownPath(path))
	case d.run.OutputMode == modeCount:
		d.out.Files = append(d.out.Files, FoundFile{path, h.count})
		fmt.Fprintf(&d.text, "%s:%d\n", tools.ShownPath(path), h.count)
	default:
		d.lines(path, h)
		return
	}
	d.passed++
	d.out.Shown++
}

// lines formats the matching lines of a file, with the requested context.
func (d *drawing) lines(path string, h hit) {
	before, after := max(d.run.Before, d.run.Context), max(d.run.After, d.run.Context)
	near := map[int]line{}
	if before+after > 0 {
		var err error
		if near, err = d.run.near(h, before, after); err != nil {
			d.run.filter.failed(d.run.ctx, err)
			d.out.Unread = int(d.run.filter.unread.Load())
		}
	}
	last := 0
	for i, l := range h.lines {
		if d.text.Len() > maxContent {
			return
		}
		// The context of two matches may overlap. Each line is written once.
		from, to := max(last+1, l.number-before), l.number+after
		if i+1 < len(h.lines) {
			to = min(to, h.lines[i+1].number-1)
		}
		// As in grep, -- separates lines that do not follow each other.
		if before+after > 0 && d.text.Len() > 0 && (last == 0 || from > last+1) {
			d.text.WriteString("--\n")
		}
		for n := from; n <= to; n++ {
			if c, ok := near[n]; n == l.number {
				d.line(path, l, ':')
			} else if ok {
				d.line(path, c, '-')
			}
			last = n
		}
		d.passed++
		d.out.Shown++
	}
}

// line formats one line.
// As in grep, the mark is a colon for a match and a hyphen for context.
func (d *drawing) line(path string, l line, mark byte) {
	d.out.Lines = append(d.out.Lines, FoundLine{path, l.number, l.text, mark == '-', l.cut})
	fmt.Fprintf(&d.text, "%s%c%d%c%s\n", tools.ShownPath(path), mark, l.number, mark, l.text)
}

// near reads the lines around the matches.
// The file is read again, because the search keeps only the matching lines.
func (r *grepRun) near(h hit, before, after int) (map[int]line, error) {
	p, err := r.filter.guard.Resolve("", r.filter.below(h.path))
	if err != nil {
		return nil, err
	}
	f, err := r.filter.guard.Open(p)
	if err != nil {
		return nil, err
	}
	near, err := r.around(sys.Interruptible(r.ctx, f), h.lines, before, after)
	return near, errors.Join(err, f.Close())
}

// around picks the context lines out of a file.
func (r *grepRun) around(src io.Reader, lines []line, before, after int) (map[int]line, error) {
	near := map[int]line{}
	var reader text.Reader
	reader.Reset(src)
	number := 0
	for len(lines) > 0 {
		block, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return near, err
		}
		for len(block) > 0 && len(lines) > 0 {
			end := lineLength(block)
			number++
			// A match is done when the last line of its context has passed.
			for len(lines) > 0 && number > lines[0].number+after {
				lines = lines[1:]
			}
			if len(lines) > 0 && number >= lines[0].number-before {
				near[number] = plainLine(number, block[:end])
			}
			block = block[min(len(block), end+1):]
		}
	}
	return near, nil
}

// close adds a note: how much there is, and what was left out.
func (d *drawing) close(all int) {
	out, note := &d.out, d.encodings
	switch {
	case out.Binary && out.InFiles == 0:
		note = append(note, "a binary file: not searched")
	case out.InFiles == 0:
		note = append(note, "no match; hidden, ignored and binary files are not searched")
	case out.Shown == 0:
		note = append(note, fmt.Sprintf("nothing at offset %d: there are %s", d.run.Offset, text.Thousands(int64(all))))
	case out.Next > 0 || d.run.Offset > 0:
		note = append(note, fmt.Sprintf("%s to %s of %s shown", text.Thousands(int64(d.run.Offset+1)), text.Thousands(int64(d.run.Offset+d.passed)), d.run.results(all, out.InFiles)))
	}
	if out.Next > 0 {
		note = append(note, fmt.Sprintf("cut: continue with offset=%d", out.Next))
	}
	if out.Unread > 0 {
		note = append(note, count(out.Unread, "file or folder")+" could not be read")
	}
	if out.Withheld > 0 {
		note = append(note, count(out.Withheld, "file or folder")+" with keys or credentials left out: name it by path")
	}
	if len(note) > 0 {
		fmt.Fprintf(&d.text, "(%s)", strings.Join(note, "; "))
	}
}

// results counts the results in words.
func (r *grepRun) results(all, files int) string {
	if r.found.content {
		return count(all, "matching line") + " in " + count(files, "file")
	}
	return count(all, "file")
}
