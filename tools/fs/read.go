package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools"
	"hob/tools/fs/document"
)

// Limits of read: lines and bytes of a page, bytes of a page with an explicit limit, characters of
// a line.
const (
	defaultLines = 2000
	defaultBytes = 50 << 10
	maxBytes     = 512 << 10
	maxLineChars = 2000
)

// ReadInput is the input of read.
type ReadInput struct {
	Path   string `json:"path" jsonschema:"file" min:"1"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, 0-based" min:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"lines; default 2000" min:"1"`
	Pages  string `json:"pages,omitempty" jsonschema:"of a PDF: 1-3,7"`
}

// ReadOutput is the output of read.
type ReadOutput struct {
	Path     string   `json:"path" jsonschema:"the file, links resolved"`
	Format   string   `json:"format" jsonschema:"text, image, pdf, docx or notebook"`
	First    int      `json:"first" jsonschema:"number of the first line shown, from 1; 0: none"`
	Lines    int      `json:"lines" jsonschema:"lines shown"`
	Next     int      `json:"next,omitempty" jsonschema:"offset to continue with; left out at the end"`
	Size     int64    `json:"size" jsonschema:"bytes in the file"`
	Cut      int      `json:"cut,omitempty" jsonschema:"lines shown only in part"`
	CRLF     bool     `json:"crlf,omitempty" jsonschema:"lines end in CR LF"`
	Encoding string   `json:"encoding,omitempty" jsonschema:"when it is not UTF-8"`
	Pages    int      `json:"pages,omitempty" jsonschema:"of a PDF: pages in it"`
	Picture  *Picture `json:"picture,omitempty" jsonschema:"of an image"`
	Text     string   `json:"text" jsonschema:"the lines, without numbers"`
}

// The formats of files, as they appear in results.
const (
	formatText     = "text"
	formatImage    = "image"
	formatPDF      = "pdf"
	formatWord     = "docx"
	formatNotebook = "notebook"
)

// Artifacts stores the pictures that a model looks at.
type Artifacts interface {
	// Keep stores the owner's data under a name for people and returns its id. It does not retain
	// data.
	Keep(ctx context.Context, name string, data []byte) (id string, err error)
	// KeepForeign does the same for foreign data; source briefly says where it comes from.
	KeepForeign(ctx context.Context, name, source string, data []byte) (id string, err error)
}

// ReadDeps holds the dependencies of read.
type ReadDeps struct {
	Guard     *fsguard.Guard
	Seen      *Seen
	Artifacts Artifacts  // nil: pictures are refused
	Spawn     *sys.Group // nil: use one processor only
	Helper    []string   // the command that runs document.Helper; empty: documents and pictures are refused
}

// NewRead builds the tool read for text with line numbers, documents as text, and pictures.
func NewRead(d ReadDeps) tools.Tool {
	r := reader{d.Guard, d.Seen, d}
	return tools.New[ReadInput, ReadOutput](tools.Spec{
		Name: "read", Group: "fs", Core: true, ReadOnly: true, SelfPaging: true, Positional: "path", Example: "notes.md --offset 100",
		Description: "Read a file: text with line numbers, PDF, docx, notebook, image. Long ones come in pages.",
	}, r.intent, r.run)
}

// reader implements read.
type reader struct {
	guard *fsguard.Guard
	seen  *Seen
	deps  ReadDeps
}

// intent resolves the path for the permission rules, and checks the page numbers early.
func (r reader) intent(_ context.Context, call tools.Call, in ReadInput) (tools.Intent, error) {
	if _, err := document.ParsePages(in.Pages); err != nil {
		return tools.Intent{}, tools.Refuse(tools.Validation, "", "pages: %v", err)
	}
	p, err := resolve(r.guard, call, in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	return readIntent("read", p)
}

// readIntent is the intent of a tool that only reads a path.
func readIntent(tool string, p fsguard.Place) (tools.Intent, error) {
	// The file's identity is covered too: an approval is void if the path leads to another file.
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Path string `json:"path"`
		ID   string `json:"path_id"`
	}{tool, p.Path, p.ID()})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{touched(p, false)},
		Summary: tool + " " + tools.ShownPath(p.Path), Canonical: canonical, Keep: p,
	}, err
}

// run opens the file and shows it.
func (r reader) run(ctx context.Context, call tools.Call, in ReadInput, intent tools.Intent) (tools.Result, error) {
	p, err := intended(r.guard, call, in.Path, intent)
	if err != nil {
		return tools.Result{}, err
	}
	if p.IsDir() {
		return tools.Fail(tools.Validation, "use ls", "%s is a folder", tools.ShownPath(in.Path)), nil
	}
	f, err := r.guard.Open(p)
	if err != nil {
		return tools.Result{}, tools.RefusePath(r.guard, call, in.Path, err)
	}
	res, err := r.open(ctx, call, in, p, f)
	if err != nil {
		err = tools.RefusePath(r.guard, call, in.Path, err)
	}
	return res, errors.Join(err, f.Close())
}

// open detects the format of the file and shows it accordingly. It records in Seen what the session
// has read.
func (r reader) open(ctx context.Context, call tools.Call, in ReadInput, p fsguard.Place, f *os.File) (tools.Result, error) {
	info, err := f.Stat()
	if err != nil {
		return tools.Result{}, err
	}
	m, err := markOf(f, info)
	if err != nil {
		return tools.Result{}, err
	}
	// A sample leaves the position alone, so that the file is still read from its beginning later.
	sample, whole, err := text.Sample(f, info.Size())
	if err != nil {
		return tools.Result{}, err
	}
	head := sample[:min(len(sample), sniffLen)]
	encoding, known := text.Detect(sample, whole)
	format, kind := formatOf(p.Path, head, known && !encoding.UTF8())
	if format == "" {
		return tools.Fail(tools.Validation, "read shows text, PDF, docx, notebooks and images", "%s is %s (%s)", tools.ShownPath(in.Path), kind, sized(info.Size())), nil
	}
	if in.Pages != "" && format != formatPDF {
		return tools.Fail(tools.Validation, "use offset and limit", "%s has no pages: only PDF files do", tools.ShownPath(in.Path)), nil
	}
	// From here on a write of this session is safe as long as the file stays the same.
	r.seen.note(call.Session, p.Path, m)
	s := pageView{ReadOutput: ReadOutput{Path: p.Path, Format: format, Size: info.Size()}}
	switch format {
	case formatImage:
		return r.picture(ctx, call, in, p, f, s)
	case formatText:
		// Decoded text has other offsets than the file, so whole blocks cannot be skipped.
		if !encoding.UTF8() {
			s.Encoding = encoding.String()
			return s.from(ctx, in, encoding.Reader(f), 0)
		}
		return r.text(ctx, in, f, s)
	}
	// PDF, Word and notebooks are decoded in the helper process.
	return r.document(ctx, in, f, s)
}

// text shows a text file.
func (r reader) text(ctx context.Context, in ReadInput, f *os.File, s pageView) (tools.Result, error) {
	// Skip as much as possible in whole blocks, and the rest line by line.
	done, at, err := r.skipBlocks(ctx, f, s.Size, in.Offset)
	if err != nil {
		return tools.Result{}, err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return tools.Result{}, err
	}
	return s.from(ctx, in, f, done)
}

// from shows the requested lines of r; done lines have been skipped already.
func (s pageView) from(ctx context.Context, in ReadInput, r io.Reader, done int) (tools.Result, error) {
	l := newLines(r)
	more, err := l.skip(ctx, in.Offset-done)
	if err != nil {
		return tools.Result{}, err
	}
	// An offset at the end is refused as well: an empty page would look like an empty file.
	if done += more; done < in.Offset || in.Offset > 0 && l.ended() {
		return tools.Fail(tools.Validation, fmt.Sprintf("offset %d shows its last line", max(done-1, 0)),
			"%s has only %s", tools.ShownPath(in.Path), count(done, "line")), nil
	}
	if err := s.collect(ctx, l, in); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: s.numbered(), Data: s.ReadOutput}, nil
}
