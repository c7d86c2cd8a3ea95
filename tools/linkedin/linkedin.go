// Package linkedin holds the tools linkedin_jobs and linkedin_job_detail. They read the job pages that LinkedIn shows to visitors who have
// not signed in. hob has no account there and applies for nothing.
//
// LinkedIn documents neither the addresses nor the pages. They are known from other programs that read them: the parameters are those of
// LinkedIn's own job search (f_TPR, f_JT, f_WT, f_E, sortBy, start), and the form of the pages is that of recorded ones
// (testdata/README.md). A page without any of the known parts is therefore an error, never a result without jobs.
package linkedin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"hob/daemon/netguard"
	"hob/tools"
)

// Account is the name of the account that switches the tools on. It has no credential.
const Account = "linkedin"

// home is the address of the site.
const home = "https://www.linkedin.com"

// Settings are what hob stores about the account.
type Settings struct {
	URL string `json:"url,omitempty"` // the pages of a country, such as https://de.linkedin.com; "": the international ones
}

// Client reads pages, one at a time and with a pause between them. It is safe for concurrent use.
type Client struct {
	web *netguard.Client
	s   Settings

	pause time.Duration

	mu   sync.Mutex // held during a request and its pause
	next time.Time
}

// Open makes a client. It asks no server.
func Open(web *netguard.Client, s Settings) *Client { return &Client{web: web, s: s, pause: pause} }

// Connect reads one page of jobs, to check whether LinkedIn shows it to this machine.
func Connect(ctx context.Context, web *netguard.Client, s Settings) error {
	_, _, err := Open(web, s).search(ctx, SearchInput{Keyword: "engineer", Limit: 1})
	return err
}

func (c *Client) home() string { return cmp.Or(c.s.URL, home) }

const (
	pause    = 3 * time.Second // between two requests
	perPage  = 10              // jobs that LinkedIn puts on a page
	maxStart = 1_000           // LinkedIn shows no more jobs of a search
)

// get reads a page.
func (c *Client) get(ctx context.Context, link string) (netguard.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := time.Until(c.next); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return netguard.Answer{}, ctx.Err()
		}
	}
	answer, err := c.web.Do(ctx, netguard.Request{Link: link, Private: c.s.URL != "", Header: http.Header{"Accept": {"text/html"}, "Accept-Language": {"en"}}})
	c.next = time.Now().Add(c.pause)
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case err != nil:
		return answer, tools.Unreached(err, "try again later")
	}
	return answer, nil
}

// statusBlocked is LinkedIn's own status for programs that it blocks.
const statusBlocked = 999

// wrong returns the error for an answer that is not the page.
func wrong(a netguard.Answer) error {
	switch {
	case a.Status == http.StatusTooManyRequests:
		return tools.Refuse(tools.RateLimited, cmp.Or(tools.Later(a.Header), "wait an hour before you try again"), "LinkedIn refuses more requests from here for now (429)")
	case a.Moved != "", a.Status == statusBlocked, a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return tools.Refuse(tools.Denied, "search with the browser; trying again soon makes it worse", "LinkedIn does not show its job pages to hob here: it wants a sign-in, or blocks programs (%d)", a.Status)
	case a.Status >= 500:
		return tools.Refuse(tools.IO, cmp.Or(tools.Later(a.Header), "the fault is LinkedIn's; try again later"), "LinkedIn could not show the page (%d)", a.Status)
	}
	return tools.Unsuccessful("LinkedIn", a.Status, a.Header)
}

// changed returns the error for a page without the known parts.
func changed(what string) error {
	return tools.Refuse(tools.IO, "search with the browser; a later version of hob may read it", "LinkedIn has changed its pages: %s", what)
}

// choice is a value of a filter: its name in the tools, and at LinkedIn.
type choice struct{ name, sent string }

// The filters of LinkedIn's job search. The names are those of the enums of SearchInput, which a test compares.
func since() []choice {
	return []choice{{"day", "r86400"}, {"week", "r604800"}, {"month", "r2592000"}}
}

func kinds() []choice {
	return []choice{{"full_time", "F"}, {"part_time", "P"}, {"contract", "C"}, {"temporary", "T"}, {"volunteer", "V"}, {"internship", "I"}, {"other", "O"}}
}

func places() []choice { return []choice{{"on_site", "1"}, {"remote", "2"}, {"hybrid", "3"}} }

func levels() []choice {
	return []choice{{"internship", "1"}, {"entry", "2"}, {"associate", "3"}, {"mid_senior", "4"}, {"director", "5"}, {"executive", "6"}}
}

func orders() []choice { return []choice{{"relevance", "R"}, {"date", "DD"}} }

// link is the address of a page of a search.
func (c *Client) link(in SearchInput, start int) string {
	q := url.Values{"keywords": {in.Keyword}, "start": {strconv.Itoa(start)}}
	if in.Location != "" {
		q.Set("location", in.Location)
	}
	for _, f := range []struct {
		param, value string
		all          []choice
	}{
		{"f_TPR", in.Since, since()},
		{"f_JT", in.Type, kinds()},
		{"f_WT", in.Remote, places()},
		{"f_E", in.Experience, levels()},
		{"sortBy", in.Sort, orders()},
	} {
		// The schema has refused other values.
		if i := slices.IndexFunc(f.all, func(x choice) bool { return x.name == f.value }); i >= 0 {
			q.Set(f.param, f.all[i].sent)
		}
	}
	return c.home() + "/jobs-guest/jobs/api/seeMoreJobPostings/search?" + q.Encode()
}

// search reads as many pages as the limit requires. more reports that there may be further jobs. Entries that cannot be read are counted in
// a note.
func (c *Client) search(ctx context.Context, in SearchInput) (jobs []Job, notes []string, err error) {
	seen := map[string]bool{}
	bad := 0
	for start := in.Offset; len(jobs) < in.Limit && start < maxStart; {
		answer, err := c.get(ctx, c.link(in, start))
		if err != nil {
			return nil, nil, err
		}
		if answer.Status == http.StatusBadRequest && start > 0 {
			break // the start is beyond the last page
		}
		if answer.Status != http.StatusOK || answer.Moved != "" {
			return nil, nil, wrong(answer)
		}
		page, faulty, err := readSearch(answer.Body)
		if err != nil {
			return nil, nil, err
		}
		bad += faulty
		fresh := 0
		for _, j := range page {
			if !seen[j.ID] {
				seen[j.ID] = true
				fresh++
				jobs = append(jobs, j)
			}
		}
		if fresh == 0 {
			break
		}
		start += len(page) + faulty
	}
	if bad > 0 {
		notes = append(notes, strconv.Itoa(bad)+" entries of the page could not be read")
	}
	return jobs[:min(len(jobs), in.Limit)], notes, nil
}

// detail reads the page of a job.
func (c *Client) detail(ctx context.Context, id string) (Detail, error) {
	answer, err := c.get(ctx, c.home()+"/jobs-guest/jobs/api/jobPosting/"+id)
	switch {
	case err != nil:
		return Detail{}, err
	case answer.Status == http.StatusNotFound, answer.Status == http.StatusGone:
		return Detail{}, tools.Refuse(tools.NotFound, "search again; it may have been taken down", "LinkedIn has no job %s (%d)", id, answer.Status)
	case answer.Status != http.StatusOK || answer.Moved != "":
		return Detail{}, wrong(answer)
	}
	return readDetail(answer.Body, id)
}
