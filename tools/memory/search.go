package memory

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/tools"
)

// SearchInput is the input of memory_search.
type SearchInput struct {
	Query      string  `json:"query" jsonschema:"words" min:"1" max:"1000"`
	MaxResults int     `json:"max_results,omitempty" jsonschema:"default 6" min:"1" max:"20" default:"6"`
	MaxBytes   int     `json:"max_bytes,omitempty" jsonschema:"of all texts; default 8000" min:"100" max:"32000" default:"8000"`
	MinScore   float64 `json:"min_score,omitempty" jsonschema:"0 to 1; default 0.35" min:"0" max:"1" default:"0.35"`
	Scope      string  `json:"scope,omitempty" jsonschema:"main: MEMORY.md; notes: memory/**/*.md" enum:"all,memory,history,context,main,notes" default:"all"`
}

// SearchOutput is the output of memory_search.
type SearchOutput struct {
	Results []Finding `json:"results" jsonschema:"the best first"`
	By      string    `json:"by" jsonschema:"what of the query was compared: words, or words and vectors"`
	Files   int       `json:"files" jsonschema:"memory files that were searched"`
	Cut     []string  `json:"cut" jsonschema:"files so large that only their first 4 MB were searched"`
	Below   int       `json:"below" jsonschema:"passages that were left out because they are under min_score"`
	Best    float64   `json:"best_below" jsonschema:"the highest score of those"`
	Notes   []string  `json:"notes,omitempty" jsonschema:"what may be missing, and why"`
}

// Finding is one result.
type Finding struct {
	Kind    string  `json:"kind" jsonschema:"memory, history or context"`
	Path    string  `json:"path" jsonschema:"for memory_get; of history: the conversation; of context: DRIVE:PATH"`
	First   int     `json:"first_line" jsonschema:"from 1; of history: the item"`
	Last    int     `json:"last_line" jsonschema:"the last line of the passage"`
	Above   string  `json:"above,omitempty" jsonschema:"the headings above it"`
	Score   float64 `json:"score" jsonschema:"0 to 1"`
	Weak    bool    `json:"weak,omitempty" jsonschema:"it is under min_score, and there is nothing better"`
	Snippet string  `json:"snippet" jsonschema:"its text"`
	Foreign string  `json:"foreign,omitempty" jsonschema:"why it is somebody else's text"`
	Sender  string  `json:"sender,omitempty" jsonschema:"of history: who wrote it"`
	Time    string  `json:"time,omitempty" jsonschema:"of history: when"`
}

// NewSearch builds the tool memory_search, which finds the parts of the memory that fit a query best.
func NewSearch(g *fsguard.Guard, x Index) tools.Tool {
	s := searcher{store{g}, x}
	return tools.New[SearchInput, SearchOutput](tools.Spec{
		Name: "memory_search", Group: "memory", Core: true, ReadOnly: true, SelfPaging: true, Positional: "query", Example: `"dentist appointment" --max-results 3`,
		Description: "Search your memory.",
	}, s.intent, s.run)
}

// searcher implements memory_search.
type searcher struct {
	store
	index Index
}

// intent names the whole workspace, because only the search shows which files contain the words.
func (s searcher) intent(_ context.Context, _ tools.Call, in SearchInput) (tools.Intent, error) {
	return s.readIntent("search the memory for "+shown(in.Query), struct {
		Tool  string      `json:"tool"`
		Query SearchInput `json:"query"`
	}{"memory_search", in})
}

// run asks the index and shows what it has found. Only the owner, in private, gets memory.
func (s searcher) run(ctx context.Context, call tools.Call, in SearchInput, _ tools.Intent) (tools.Result, error) {
	found, err := s.index.Search(ctx, index.Query{
		Text: in.Query, Scope: index.Scope(in.Scope), Owner: ofOwner(call), Session: call.Session,
		MaxPassages: in.MaxResults, MaxBytes: in.MaxBytes, MinScore: in.MinScore,
	})
	if err != nil {
		return tools.Result{}, refusal("the memory", err)
	}
	out, foreign := findings(found)
	return tools.Result{Content: out.text(), Data: out, Foreign: foreign}, nil
}

// ofOwner reports whether the owner asks, in a private conversation.
func ofOwner(call tools.Call) bool { return call.Trust == event.Owner && !call.Guest }

// findings converts what a search found, and names the first foreign source: one foreign result is enough to taint the turn.
func findings(found index.Result) (out SearchOutput, foreign string) {
	out = SearchOutput{Results: []Finding{}, By: "words", Files: found.Files, Cut: append([]string{}, found.Cut...), Below: found.Weaker, Best: found.Best, Notes: found.Notes}
	if found.Vectors {
		out.By = "words and vectors"
	}
	for _, p := range found.Passages {
		f := Finding{Kind: string(p.Kind), Path: p.Path, First: p.From, Last: p.To, Above: p.Above, Score: p.Score, Weak: p.Weak, Snippet: p.Text, Foreign: p.Foreign, Sender: p.Sender}
		if !p.Time.IsZero() {
			f.Time = p.Time.Format("2006-01-02 15:04")
		}
		out.Results = append(out.Results, f)
		if p.Foreign != "" {
			foreign = cmp.Or(foreign, p.Path+": "+p.Foreign)
		}
	}
	return out, foreign
}

// text formats the findings for the model.
func (f SearchOutput) text() string {
	var b strings.Builder
	switch {
	case f.Files == 0 && len(f.Results) == 0:
		b.WriteString("there is nothing to search yet: memory is MEMORY.md and memory/**/*.md in the workspace")
	case len(f.Results) == 0:
		fmt.Fprintf(&b, "nothing found (by %s)", f.By)
	default:
		fmt.Fprintf(&b, "%s in %s (by %s)", count(len(f.Results), "passage"), f.sources(), f.By)
	}
	f.list(&b)
	return b.String()
}

// list formats everything after the first line.
func (f SearchOutput) list(b *strings.Builder) {
	if f.Below > 0 {
		fmt.Fprintf(b, "; %d weaker left out", f.Below)
	}
	if len(f.Cut) > 0 {
		fmt.Fprintf(b, "; at most the first 4 MB of %s", strings.Join(f.Cut, ", "))
	}
	for _, n := range f.Notes {
		b.WriteString("; " + n)
	}
	for _, r := range f.Results {
		b.WriteString("\n\n" + r.head() + "\n" + r.Snippet)
	}
}

// sources counts the files, conversations and context items of the results.
func (f SearchOutput) sources() string {
	var list []string
	for _, of := range []struct {
		kind index.Kind
		noun string
	}{{index.File, "file"}, {index.History, "conversation"}, {index.Context, "context item"}} {
		paths := map[string]bool{}
		for _, r := range f.Results {
			if r.Kind == string(of.kind) {
				paths[r.Path] = true
			}
		}
		if len(paths) > 0 {
			list = append(list, count(len(paths), of.noun))
		}
	}
	return strings.Join(list, ", ")
}

// head formats the line above a result.
func (r Finding) head() string {
	line := fmt.Sprintf("%s:%d-%d", tools.ShownPath(r.Path), r.First, r.Last)
	if r.Above != "" {
		line += " · " + shown(r.Above)
	}
	line += fmt.Sprintf(" (score %.2f", r.Score)
	if r.Weak {
		line += ", weak"
	}
	if r.Sender != "" || r.Time != "" {
		line += ", " + strings.TrimSpace(shown(r.Sender)+" "+r.Time)
	}
	return line + ")"
}
