package memory

import (
	"context"
	"fmt"
	"math"
	"strings"

	"hob/daemon/fsguard"
	"hob/tools"
)

// The scopes of a search besides "all".
const (
	scopeMain  = "main"
	scopeNotes = "notes"
)

// mostOfSnippet limits the text of a result, in bytes.
const mostOfSnippet = 600

// SearchInput is the input of memory_search.
type SearchInput struct {
	Query      string  `json:"query" jsonschema:"words" min:"1" max:"1000"`
	MaxResults int     `json:"max_results,omitempty" jsonschema:"default 6" min:"1" max:"20" default:"6"`
	MinScore   float64 `json:"min_score,omitempty" jsonschema:"0 to 1; default 0.35" min:"0" max:"1" default:"0.35"`
	Scope      string  `json:"scope,omitempty" jsonschema:"main: MEMORY.md; notes: memory/*.md" enum:"all,main,notes" default:"all"`
}

// SearchOutput is the output of memory_search.
type SearchOutput struct {
	Results []Finding `json:"results" jsonschema:"the best first"`
	By      string    `json:"by" jsonschema:"words: nothing but the words of the query is compared"`
	Files   int       `json:"files" jsonschema:"files that were looked at"`
	Cut     []string  `json:"cut" jsonschema:"files so large that only their first MiB was looked at"`
	Below   int       `json:"below" jsonschema:"places with a word of the query that are under min_score"`
	Best    float64   `json:"best_below" jsonschema:"the highest score under min_score"`
}

// Finding is one result.
type Finding struct {
	Path    string  `json:"path" jsonschema:"for memory_get"`
	First   int     `json:"first_line" jsonschema:"from 1"`
	Last    int     `json:"last_line" jsonschema:"the last line of the place"`
	Score   float64 `json:"score" jsonschema:"0 to 1; 1 is a text that is nothing but the query"`
	Snippet string  `json:"snippet" jsonschema:"its text, cut where it is long"`
	Foreign string  `json:"foreign,omitempty" jsonschema:"why it is somebody else's text"`
}

// NewSearch builds the tool memory_search, which finds the parts of the memory that contain the
// words of a query.
func NewSearch(g *fsguard.Guard) tools.Tool {
	s := searcher{store{g}}
	return tools.New[SearchInput, SearchOutput](tools.Spec{
		Name: "memory_search", Group: "memory", Core: true, ReadOnly: true, SelfPaging: true, Positional: "query", Example: `"dentist appointment" --max-results 3`,
		Description: "Search your memory, by words.",
	}, s.intent, s.run)
}

// searcher implements memory_search.
type searcher struct{ store }

// intent asks for the whole workspace: only the search shows which files contain the words.
func (s searcher) intent(_ context.Context, _ tools.Call, in SearchInput) (tools.Intent, error) {
	return s.readIntent("search the memory for "+shown(in.Query), struct {
		Tool  string      `json:"tool"`
		Query SearchInput `json:"query"`
	}{"memory_search", in})
}

// piece is a chunk together with its file.
type piece struct {
	file *file
	chunk
}

// run reads the files, ranks their chunks and shows the best.
func (s searcher) run(ctx context.Context, _ tools.Call, in SearchInput, _ tools.Intent) (tools.Result, error) {
	out := SearchOutput{Results: []Finding{}, By: "words", Cut: []string{}}
	pieces, err := s.pieces(ctx, in.Scope, &out)
	if err != nil {
		return tools.Result{}, refusal("the memory", err)
	}
	texts := make([]string, len(pieces))
	for i, p := range pieces {
		// The headings above a chunk count as its words: a note may name its subject only there.
		texts[i] = p.above + "\n" + p.text
	}
	foreign := ""
	for _, h := range Rank(in.Query, texts) {
		// Round first: min_score is compared with the number that the model is shown.
		score := math.Round(h.Score*1000) / 1000
		switch p := pieces[h.Text]; {
		case score < in.MinScore:
			out.Below, out.Best = out.Below+1, max(out.Best, score)
		case len(out.Results) < in.MaxResults:
			out.Results = append(out.Results, Finding{p.file.name, p.first, p.last, score, snippet(p.text, in.Query), p.file.foreign})
			// One foreign result is enough to taint the turn; the first one is named.
			if foreign == "" && p.file.foreign != "" {
				foreign = p.file.name + ": " + p.file.foreign
			}
		}
	}
	return tools.Result{Content: out.text(in), Data: out, Foreign: foreign}, nil
}

// pieces reads the files of a scope and splits them. It counts the files in out.
func (s searcher) pieces(ctx context.Context, scope string, out *SearchOutput) (list []piece, err error) {
	names, err := s.names(scope)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, ok, err := s.read(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if !ok {
			continue
		}
		if out.Files++; f.cut {
			out.Cut = append(out.Cut, name)
		}
		// Chunks, not files, are ranked: a long file would hide its one matching paragraph.
		for _, c := range chunks(f.text) {
			list = append(list, piece{&f, c})
		}
	}
	return list, nil
}

// snippet returns a short text unchanged, and of a long one the part around the first word of the
// query.
func snippet(text, query string) string {
	if len(text) <= mostOfSnippet {
		return text
	}
	at, low := len(text), strings.ToLower(text)
	for _, w := range Words(query) {
		if i := strings.Index(low, w); i >= 0 {
			at = min(at, i)
		}
	}
	if at == len(text) {
		at = 0
	}
	// A quarter of the snippet shows what comes before the word.
	from := max(0, min(at-mostOfSnippet/4, len(text)-mostOfSnippet))
	cut := strings.ToValidUTF8(text[from:from+mostOfSnippet], "")
	if from > 0 {
		cut = "… " + cut
	}
	if from+mostOfSnippet < len(text) {
		cut += " …"
	}
	return cut
}

// text formats the findings for the model.
func (f SearchOutput) text(in SearchInput) string {
	var b strings.Builder
	switch {
	case f.Files == 0:
		return "there is nothing to search yet: memory is MEMORY.md and memory/*.md in the workspace"
	case len(f.Results) == 0:
		fmt.Fprintf(&b, "nothing found in %s (by words only)", count(f.Files, "file"))
	default:
		fmt.Fprintf(&b, "%s in %s (by words only)", count(len(f.Results), "place"), count(f.Files, "file"))
	}
	if f.Below > 0 {
		fmt.Fprintf(&b, "; %d more under min_score %g, the best with %g", f.Below, in.MinScore, f.Best)
	}
	if len(f.Cut) > 0 {
		fmt.Fprintf(&b, "; only the first MiB of %s", strings.Join(f.Cut, ", "))
	}
	for _, r := range f.Results {
		fmt.Fprintf(&b, "\n\n%s:%d-%d (score %.2f)\n%s", r.Path, r.First, r.Last, r.Score, r.Snippet)
	}
	return b.String()
}
