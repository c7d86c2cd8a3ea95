// Package sessions holds the tools about hob's own conversations: list, read and write to them
// (sessions_list, sessions_history, sessions_send, sessions_status), sub-agents (sessions_spawn,
// subagents), large results (result_read), and waiting (wait_task). They read hob's rows through
// the interfaces below, and return rows and waits for the agent to commit. They change nothing
// outside hob.
package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of result_read.
const (
	defaultPage = 20_000
	maxPage     = 100_000
	maxMatches  = 50
	around      = 120      // bytes shown before and after a match
	searchLimit = 16 << 20 // bytes searched
)

// ErrNoArtifact is the error of Open for an unknown id.
var ErrNoArtifact = errors.New("no such artifact")

// Artifact is a stored result, opened for reading.
type Artifact struct {
	Name   string      // for people
	Size   int64       // bytes
	Trust  event.Trust // trust level of its source; reading anything but the owner's text taints the turn
	Source string      // where the bytes come from, in a few words
	Body   io.ReadSeekCloser
}

// foreign returns whose text it is, or "" if it is the owner's.
func (a Artifact) foreign(id string) string {
	if a.Trust == event.Owner {
		return ""
	}
	return "result " + shortID(id) + " from " + cmp.Or(a.Source, "an unknown source")
}

// Artifacts reads stored results.
type Artifacts interface {
	// Open opens a stored result; ErrNoArtifact if there is none. The caller closes Body.
	Open(ctx context.Context, id string) (Artifact, error)
}

// ResultReadInput is the input of result_read.
type ResultReadInput struct {
	ID     string `json:"id" jsonschema:"its id" min:"1"`
	Offset int64  `json:"offset,omitempty" jsonschema:"first byte, 0-based" min:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"bytes to show" default:"20000" min:"1" max:"100000"`
	Search string `json:"search,omitempty" jsonschema:"RE2 regex to look for"`
}

// ResultReadOutput is the output of result_read.
type ResultReadOutput struct {
	ID      string  `json:"id" jsonschema:"id of the result"`
	Name    string  `json:"name,omitempty" jsonschema:"what it is"`
	Size    int64   `json:"size" jsonschema:"bytes in it"`
	Offset  int64   `json:"offset" jsonschema:"first byte shown"`
	Next    int64   `json:"next,omitempty" jsonschema:"offset to continue with; left out at the end"`
	Text    string  `json:"text,omitempty" jsonschema:"the bytes shown"`
	Matches []Match `json:"matches,omitempty" jsonschema:"of a search"`
}

// Match is a place that a search found.
type Match struct {
	Offset int64  `json:"offset" jsonschema:"byte at which it begins"`
	Text   string `json:"text" jsonschema:"it and what stands around it in its line"`
}

// NewResultRead builds the tool result_read, which pages through results that were too large for
// the transcript.
func NewResultRead(artifacts Artifacts) tools.Tool {
	r := resultReader{artifacts}
	return tools.New[ResultReadInput, ResultReadOutput](tools.Spec{
		Name: "result_read", Group: "sessions", Core: true, ReadOnly: true, SelfPaging: true, Positional: "id", Example: "a1b2c3 --search error",
		Description: "Page through or search a stored result.",
	}, r.intent, r.run)
}

// resultReader implements result_read.
type resultReader struct{ artifacts Artifacts }

// intent determines whose text the result is. An unknown id is not foreign; run refuses it.
func (r resultReader) intent(ctx context.Context, _ tools.Call, in ResultReadInput) (tools.Intent, error) {
	if _, err := pattern(in); err != nil {
		return tools.Intent{}, err
	}
	foreign, err := r.foreign(ctx, in.ID)
	if err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.CanonicalCall("result_read", in)
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.Sessions}, Summary: "read result " + shortID(in.ID), Canonical: canonical,
		Foreign: foreign,
	}, err
}

// foreign opens the result to find its origin.
func (r resultReader) foreign(ctx context.Context, id string) (string, error) {
	// Only the trust and the source are read here, not the bytes.
	a, err := r.artifacts.Open(ctx, id)
	if errors.Is(err, ErrNoArtifact) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("open result %s: %w", shortID(id), err)
	}
	if err := a.Body.Close(); err != nil {
		return "", fmt.Errorf("close result %s: %w", shortID(id), err)
	}
	return a.foreign(id), nil
}

// pattern compiles the search; nil if there is none.
func pattern(in ResultReadInput) (*regexp.Regexp, error) {
	if in.Search == "" {
		return nil, nil
	}
	re, err := regexp.Compile(in.Search)
	if err != nil {
		return nil, tools.Refuse(tools.Validation, `put \ before signs that are meant as they are`, "search: %v", err)
	}
	return re, nil
}

// shortID shortens an id for a message.
func shortID(id string) string { return text.Shorten(id, 40) }

// run shows a page, or searches.
func (r resultReader) run(ctx context.Context, _ tools.Call, in ResultReadInput, _ tools.Intent) (tools.Result, error) {
	re, err := pattern(in)
	if err != nil {
		return tools.Result{}, err
	}
	a, err := r.artifacts.Open(ctx, in.ID)
	if errors.Is(err, ErrNoArtifact) {
		return tools.Fail(tools.NotFound, "take the id from the result that was stored", "there is no result %q", shortID(in.ID)), nil
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("open result %s: %w", in.ID, err)
	}
	res, err := show(ctx, a, in, re)
	res.Foreign = a.foreign(in.ID) // set again: the artifact may be newer than the intent
	return res, errors.Join(err, a.Body.Close())
}

// show shows the page at the offset, or the matches after it.
func show(ctx context.Context, a Artifact, in ResultReadInput, re *regexp.Regexp) (tools.Result, error) {
	if in.Offset > 0 && in.Offset >= a.Size {
		return tools.Fail(tools.Validation, "", "result %s has only %d bytes", in.ID, a.Size), nil
	}
	if _, err := a.Body.Seek(in.Offset, io.SeekStart); err != nil {
		return tools.Result{}, fmt.Errorf("read result %s: %w", in.ID, err)
	}
	p := ResultReadOutput{ID: in.ID, Name: a.Name, Size: a.Size, Offset: in.Offset}
	if re != nil {
		return search(ctx, a, p, re)
	}
	raw, err := io.ReadAll(io.LimitReader(a.Body, int64(in.Limit)))
	if err != nil {
		return tools.Result{}, fmt.Errorf("read result %s: %w", in.ID, err)
	}
	// End the page at a line break, and continue from there.
	raw = whole(raw, in.Offset+int64(len(raw)) >= a.Size)
	p.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	content := p.Text
	if end := in.Offset + int64(len(raw)); end < a.Size {
		p.Next = end
		content += fmt.Sprintf("\n(bytes %d to %d of %d; continue with offset=%d)", in.Offset, end, a.Size, end)
	} else {
		content += fmt.Sprintf("\n(end of result, %d bytes)", a.Size)
	}
	return tools.Result{Content: content, Data: p}, nil
}

// whole ends a page at a line break if there is one in its second half, and never inside a
// character.
func whole(raw []byte, last bool) []byte {
	if last {
		return raw
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= len(raw)/2 {
		return raw[:i+1]
	}
	for cut := 1; cut < utf8.UTFMax && cut < len(raw); cut++ {
		if tail := raw[len(raw)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return raw[:len(raw)-cut]
			}
			break
		}
	}
	return raw
}

// search lists the first matches after the offset.
func search(ctx context.Context, a Artifact, p ResultReadOutput, re *regexp.Regexp) (tools.Result, error) {
	// A match may span lines, so the searched part is held in memory as a whole.
	raw, err := io.ReadAll(io.LimitReader(a.Body, searchLimit))
	if err != nil {
		return tools.Result{}, fmt.Errorf("read result %s: %w", p.ID, err)
	}
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	// One match over the limit shows that there is more, and where to continue.
	for _, at := range re.FindAllIndex(raw, maxMatches+1) {
		if len(p.Matches) == maxMatches {
			p.Next = p.Offset + int64(at[0])
			break
		}
		m := Match{Offset: p.Offset + int64(at[0]), Text: line(raw, at[0], at[1])}
		p.Matches = append(p.Matches, m)
		fmt.Fprintf(&b, "%d: %s\n", m.Offset, m.Text)
	}
	switch {
	case len(p.Matches) == 0:
		b.WriteString("no match")
	case p.Next > 0:
		fmt.Fprintf(&b, "(the first %d matches; continue with offset=%d)", maxMatches, p.Next)
	case len(p.Matches) == 1:
		b.WriteString("(1 match; the number is its offset)")
	default:
		fmt.Fprintf(&b, "(%d matches; the numbers are offsets)", len(p.Matches))
	}
	return tools.Result{Content: b.String(), Data: p}, nil
}

// line returns a match with its surroundings, up to the ends of its line.
func line(raw []byte, from, to int) string {
	// A match may be as long as the result; its beginning is enough to recognise it.
	to = min(to, from+around)
	start, end := max(0, from-around), min(len(raw), to+around)
	if i := bytes.LastIndexByte(raw[start:from], '\n'); i >= 0 {
		start += i + 1
	}
	if i := bytes.IndexByte(raw[to:end], '\n'); i >= 0 {
		end = to + i
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(raw[start:end]), ""), "\n", "⏎")
}
