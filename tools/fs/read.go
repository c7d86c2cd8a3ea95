package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"hob/daemon/fsguard"
	"hob/tools"
)

// Limits of read.
const (
	defaultLines = 2000
	defaultBytes = 50 << 10
	maxBytes     = 512 << 10
	maxLineChars = 2000
)

// Reading is what read takes.
type Reading struct {
	Path   string `json:"path" jsonschema:"file; relative to the workspace, absolute, or ~" min:"1"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, 0-based" min:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines; default 2000" min:"1"`
}

// Page is what read answers.
type Page struct {
	Path  string `json:"path" jsonschema:"the file, links resolved"`
	First int    `json:"first" jsonschema:"number of the first line shown, from 1; 0: none"`
	Lines int    `json:"lines" jsonschema:"lines shown"`
	Next  int    `json:"next,omitempty" jsonschema:"offset to continue with; left out at the end"`
	Size  int64  `json:"size" jsonschema:"bytes in the file"`
	Cut   int    `json:"cut,omitempty" jsonschema:"lines shown only in part"`
	CRLF  bool   `json:"crlf,omitempty" jsonschema:"lines end in CR LF"`
	Text  string `json:"text" jsonschema:"the lines, without numbers"`
}

// NewRead makes the tool read: text with line numbers.
func NewRead(g *fsguard.Guard, seen *Seen) tools.Tool {
	r := reader{g, seen}
	return tools.New[Reading, Page](tools.Spec{
		Name: "read", Group: "fs", Core: true, SelfPaging: true, Positional: "path", Example: "notes.md --offset 100",
		Description: "Read a text file with line numbers. Long files come in pages; the answer says how to go on.",
	}, r.intent, r.run)
}

type reader struct {
	guard *fsguard.Guard
	seen  *Seen
}

func (r reader) intent(_ context.Context, call tools.Call, in Reading) (tools.Intent, error) {
	p, err := judge(r.guard, call, in.Path)
	if err != nil {
		return tools.Intent{}, err
	}
	return looking("read", p)
}

// looking is the intent of a tool that only looks at a path.
func looking(tool string, p fsguard.Place) (tools.Intent, error) {
	canonical, err := tools.Canonical(struct {
		Tool string `json:"tool"`
		Path string `json:"path"`
		ID   string `json:"id"`
	}{tool, p.Path, p.ID()})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{touched(p, false)},
		Summary: tool + " " + shown(p.Path), Canonical: canonical, Keep: p,
	}, err
}

func (r reader) run(ctx context.Context, call tools.Call, in Reading, intent tools.Intent) (tools.Result, error) {
	p, err := intended(r.guard, call, in.Path, intent)
	if err != nil {
		return tools.Result{}, err
	}
	if p.IsDir() {
		return tools.Fail(tools.Validation, "use ls", "%s is a folder", shown(in.Path)), nil
	}
	f, err := r.guard.Open(p)
	if err != nil {
		return tools.Result{}, refusal(r.guard, call, in.Path, err)
	}
	res, err := r.page(ctx, call, in, p, f)
	if err != nil {
		err = refusal(r.guard, call, in.Path, err)
	}
	return res, errors.Join(err, f.Close())
}

func (r reader) page(ctx context.Context, call tools.Call, in Reading, p fsguard.Place, f *os.File) (tools.Result, error) {
	head := make([]byte, sniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return tools.Result{}, err
	}
	if kind := binaryKind(p.Path, head[:n]); kind != "" {
		return tools.Fail(tools.Validation, "read shows text files only", "%s is %s (%s)", shown(in.Path), kind, sized(p.Info.Size())), nil
	}
	info, err := f.Stat()
	if err != nil {
		return tools.Result{}, err
	}
	m, err := markOf(f, info)
	if err != nil {
		return tools.Result{}, err
	}
	r.seen.note(call.Session, p.Path, m)
	l := newLines(f)
	skipped, err := l.skip(ctx, in.Offset)
	if err != nil {
		return tools.Result{}, err
	}
	if skipped < in.Offset || in.Offset > 0 && l.ended() {
		return tools.Fail(tools.Validation, fmt.Sprintf("offset %d shows its last line", max(skipped-1, 0)),
			"%s has only %s", shown(in.Path), count(skipped, "line")), nil
	}
	shot, err := collect(ctx, l, in)
	if err != nil {
		return tools.Result{}, err
	}
	shot.Path, shot.Size = p.Path, info.Size()
	return tools.Result{Content: shot.numbered(), Data: shot.Page}, nil
}
