package linkedin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// SearchInput is the input of linkedin_jobs.
type SearchInput struct {
	Keyword    string `json:"keyword" jsonschema:"title, skill or company" min:"1" max:"200"`
	Location   string `json:"location,omitempty" jsonschema:"city, region or country; default anywhere" max:"200"`
	Since      string `json:"since,omitempty" jsonschema:"listed within the last" enum:"day,week,month"`
	Type       string `json:"type,omitempty" jsonschema:"kind of employment" enum:"full_time,part_time,contract,temporary,volunteer,internship,other"`
	Remote     string `json:"remote,omitempty" jsonschema:"place of work" enum:"on_site,remote,hybrid"`
	Experience string `json:"experience,omitempty" jsonschema:"level" enum:"internship,entry,associate,mid_senior,director,executive"`
	Sort       string `json:"sort,omitempty" jsonschema:"order" enum:"relevance,date"`
	Limit      int    `json:"limit,omitempty" jsonschema:"jobs; each ten take some seconds" default:"10" min:"1" max:"50"`
	Offset     int    `json:"offset,omitempty" jsonschema:"skip this many" min:"0" max:"990"`
}

// SearchOutput is the output of linkedin_jobs.
type SearchOutput struct {
	Jobs  []Job    `json:"jobs" jsonschema:"in the order of LinkedIn"`
	Next  int      `json:"next,omitempty" jsonschema:"offset of the next page, if there may be one"`
	Notes []string `json:"notes,omitempty" jsonschema:"what could not be read"`
}

// DetailInput is the input of linkedin_job_detail.
type DetailInput struct {
	ID string `json:"id" jsonschema:"id of a job, or its address at LinkedIn" min:"5" max:"500"`
}

// NewJobs builds the tool linkedin_jobs. The account, which switches it on, opens the same client each time: its pauses are between all requests.
func NewJobs(s tools.Account[*Client]) tools.Tool {
	r := reader{s}
	return r.withAccount(tools.New[SearchInput, SearchOutput](tools.Spec{
		Name: "linkedin_jobs", Group: Account, ReadOnly: true, Positional: "keyword", Example: "'go developer' --location Berlin --since week --remote hybrid",
		Description: "Search LinkedIn's public job offers. Their texts are somebody else's.",
	}, r.searching, r.search))
}

// NewDetail builds the tool linkedin_job_detail.
func NewDetail(s tools.Account[*Client]) tools.Tool {
	r := reader{s}
	return r.withAccount(tools.New[DetailInput, Detail](tools.Spec{
		Name: "linkedin_job_detail", Group: Account, ReadOnly: true, Positional: "id", Example: "3439174366",
		Description: "Read one job offer of linkedin_jobs: description, level, type, applicants. Its text is somebody else's.",
	}, r.reading, r.detail))
}

// reader implements both tools.
type reader struct{ account tools.Account[*Client] }

func (r reader) there() bool { return r.account != nil && r.account.Set() }

// withAccount returns a tool that exists only with the account.
func (r reader) withAccount(t tools.Tool) tools.Tool {
	return tools.Needing(t, "LinkedIn is switched off; switch it on with: hob account add "+Account, r.there)
}

// intent is the intent of both tools. LinkedIn is a public site and no account of the owner's, so it learns what a call asks for. A search
// is therefore judged like a request to the web, for which a turn that has read foreign text needs approval. The number of a job reveals
// nothing.
func (r reader) intent(ctx context.Context, link func(*Client) string, words bool, summary string, canonical []byte) (tools.Intent, error) {
	if !r.there() {
		return tools.Intent{}, tools.Refuse(tools.ConfigError, "the owner switches it on with: hob account add "+Account, "LinkedIn is switched off")
	}
	i := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.AccountRead}, Accounts: []string{Account}, Foreign: "LinkedIn", Summary: summary, Canonical: canonical}
	if !words {
		return i, nil
	}
	c, err := r.account.Open(ctx)
	if err != nil {
		return i, err
	}
	at, host, err := netguard.Canonical(link(c))
	i.Scopes, i.Hosts, i.Links = append(i.Scopes, tools.Net), []string{host}, []string{at}
	return i, err
}

func (r reader) searching(ctx context.Context, _ tools.Call, in SearchInput) (tools.Intent, error) {
	raw, err := tools.CanonicalCall("linkedin_jobs", in)
	if err != nil {
		return tools.Intent{}, err
	}
	summary := "search LinkedIn for jobs: " + text.Shorten(in.Keyword, 100)
	if in.Location != "" {
		summary += " in " + text.Shorten(in.Location, 100)
	}
	return r.intent(ctx, func(c *Client) string { return c.link(in, in.Offset) }, true, summary, raw)
}

func (r reader) search(ctx context.Context, _ tools.Call, in SearchInput, _ tools.Intent) (tools.Result, error) {
	c, err := r.account.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	jobs, notes, err := c.search(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	out := SearchOutput{Jobs: slices.Clip(append([]Job{}, jobs...)), Notes: notes}
	if next := in.Offset + len(jobs); len(jobs) == in.Limit && next < maxStart {
		out.Next = next
	}
	return tools.Result{Content: out.text(in.Offset), Data: out}, nil
}

// text shows the page.
func (o SearchOutput) text(offset int) string {
	var b strings.Builder
	if len(o.Jobs) == 0 {
		b.WriteString("LinkedIn has no such jobs\n")
	}
	for n, j := range o.Jobs {
		fmt.Fprintf(&b, "%d. %s", offset+n+1, j.Title)
		for _, more := range []string{j.Company, j.Location, j.Posted} {
			if more != "" {
				b.WriteString("; " + more)
			}
		}
		b.WriteString(" [" + j.ID + "]\n")
	}
	if o.Next > 0 {
		fmt.Fprintf(&b, "more: offset %d\n", o.Next)
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r reader) reading(ctx context.Context, _ tools.Call, in DetailInput) (tools.Intent, error) {
	id := number(in.ID)
	if id == "" {
		return tools.Intent{}, tools.Refuse(tools.Validation, "take an id from linkedin_jobs", "id: %q is not the number of a job", netguard.OneLine(in.ID, 80))
	}
	raw, err := tools.CanonicalCall("linkedin_job_detail", DetailInput{ID: id})
	if err != nil {
		return tools.Intent{}, err
	}
	return r.intent(ctx, nil, false, "read the job "+id+" at LinkedIn", raw)
}

func (r reader) detail(ctx context.Context, _ tools.Call, in DetailInput, _ tools.Intent) (tools.Result, error) {
	c, err := r.account.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	d, err := c.detail(ctx, number(in.ID))
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Content: d.text(), Data: d}, nil
}

// text shows a job.
func (d Detail) text() string {
	var b strings.Builder
	closed := ""
	if d.Closed {
		closed = "no more"
	}
	list := append([]Criterion{
		{"title", d.Title}, {"company", d.Company}, {"location", d.Location}, {"posted", d.Posted}, {"applicants", d.Applicants}, {"applications", closed}, {"salary", d.Salary},
	}, d.Criteria...)
	for _, c := range append(list, Criterion{"page", d.URL}) {
		if c.Value != "" {
			b.WriteString(c.Name + ": " + c.Value + "\n")
		}
	}
	return b.String() + "\n" + d.Description
}
