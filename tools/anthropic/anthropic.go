// Package anthropic holds the tool anthropic_usage: what an organization has used of the Claude API, what that cost, and who has worked with
// Claude Code. It reads reports of the Admin API and changes nothing.
//
// The shapes are those of these pages, as of November 2026:
//   - usage: https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages
//   - cost: https://platform.claude.com/docs/en/api/admin/cost_report/retrieve
//   - claude_code: https://platform.claude.com/docs/en/api/admin-api/claude-code/get-claude-code-usage-report
//   - errors: https://platform.claude.com/docs/en/api/errors
//
// Anthropic calls the first two legacy since October 2026 and goes on serving them; their successor is in beta.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/daemon/netguard"
	"hob/tools"
)

// Account is the name of the account that has the key.
const Account = "anthropic_usage"

// home is the address of the API.
const home = "https://api.anthropic.com"

// Settings are what hob stores about the account.
type Settings struct {
	Key string `json:"key"`
	URL string `json:"url,omitempty"` // a gateway that the owner has named; "": Anthropic's own address
}

// Client reads reports. It is safe for concurrent use.
type Client struct {
	web *netguard.Client
	s   Settings
}

// Open makes a client. It asks no server.
func Open(web *netguard.Client, s Settings) *Client { return &Client{web, s} }

// Connect tries the key with each report. It returns those that the key may read, and one sentence for each of the others.
func Connect(ctx context.Context, web *netguard.Client, s Settings, today time.Time) (may, not []string, err error) {
	if strings.HasPrefix(s.Key, "sk-ant-api") {
		return nil, nil, tools.Refuse(tools.Validation, adminKey, "this is a key for models, which may read no report")
	}
	c := Open(web, s)
	var first error
	for _, r := range reports() {
		q := r.query(today.AddDate(0, 0, -1), today)
		q.Set("limit", "1")
		_, err := c.page(ctx, r, q)
		switch code, text, _, _ := tools.Refusal(err); {
		case err == nil:
			may = append(may, r.name)
		case code == tools.Denied || code == tools.NotFound:
			first = cmp.Or(first, err)
			not = append(not, text)
		default:
			return nil, nil, err // the failure is not about the key
		}
	}
	if len(may) == 0 {
		return nil, nil, first
	}
	return may, not, nil
}

const adminKey = "an administrator of the organization makes an admin key (sk-ant-admin…) in the Claude Console, under Settings, Admin keys"

// report is one of the reports.
type report struct {
	name, path string
	perDay     bool   // a request is about one day
	days       int    // the longest span
	group      string // the field by which the results of a day are grouped
	limit      string // the largest number of entries of a page
	read       func(page json.RawMessage, add func(day string, l Line)) error
}

// reports lists the reports that the tool can read.
func reports() []report {
	return []report{
		{name: "usage", path: "/v1/organizations/usage_report/messages", days: 366, group: "model", limit: "31", read: readUsage},
		{name: "cost", path: "/v1/organizations/cost_report", days: 366, group: "description", limit: "31", read: readCost},
		{name: "claude_code", path: "/v1/organizations/usage_report/claude_code", days: 31, perDay: true, limit: "1000", read: readClaudeCode},
	}
}

// day is the format of a date.
const day = time.DateOnly

// query returns the parameters that ask for the days from one day until another, which is not included.
func (r report) query(from, until time.Time) url.Values {
	if r.perDay {
		return url.Values{"starting_at": {from.Format(day)}, "limit": {r.limit}}
	}
	return url.Values{"starting_at": {from.Format(time.RFC3339)}, "ending_at": {until.Format(time.RFC3339)}, "bucket_width": {"1d"}, "group_by[]": {r.group}, "limit": {r.limit}}
}

// maxPages limits the requests for one report.
const maxPages = 100

// each reads all pages about the days from one day to another.
func (c *Client) each(ctx context.Context, r report, from, to time.Time, add func(day string, l Line)) error {
	pages := 0
	for start := from; !start.After(to); {
		until := to.AddDate(0, 0, 1)
		if r.perDay {
			until = start.AddDate(0, 0, 1)
		}
		q := r.query(start, until)
		for more := true; more; pages++ {
			if pages == maxPages {
				return tools.Refuse(tools.IO, "ask for a shorter span", "the report has more than %d pages", maxPages)
			}
			next, err := c.pageOf(ctx, r, q, add)
			if err != nil {
				return err
			}
			q.Set("page", next)
			more = next != ""
		}
		start = until
	}
	return nil
}

// pageOf adds one page, and returns the token of the next one.
func (c *Client) pageOf(ctx context.Context, r report, q url.Values, add func(day string, l Line)) (next string, err error) {
	p, err := c.page(ctx, r, q)
	if err != nil {
		return "", err
	}
	if err := r.read(p.Data, add); err != nil {
		return "", changed(r, err.Error())
	}
	if p.More && (p.Next == "" || p.Next == q.Get("page")) {
		return "", changed(r, "its next page is missing")
	}
	if !p.More {
		return "", nil
	}
	return p.Next, nil
}

// page is a page of any report.
type page struct {
	Data json.RawMessage `json:"data"`
	More bool            `json:"has_more"`
	Next string          `json:"next_page"`
}

// page makes one request.
func (c *Client) page(ctx context.Context, r report, q url.Values) (p page, err error) {
	answer, err := c.web.Do(ctx, netguard.Request{
		Link: cmp.Or(c.s.URL, home) + r.path + "?" + q.Encode(), Private: c.s.URL != "",
		Header: http.Header{"X-Api-Key": {c.s.Key}, "Anthropic-Version": {"2023-06-01"}, "User-Agent": {"hob"}, "Accept": {"application/json"}},
	})
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case err != nil:
		return p, tools.Unreached(err, "try again later")
	case answer.Status != http.StatusOK:
		return p, wrong(r, answer)
	}
	if err := json.Unmarshal(answer.Body, &p); err != nil || p.Data == nil {
		return p, changed(r, "it is not the JSON of a page")
	}
	return p, nil
}

// changed returns the error for an answer that does not have the documented form.
func changed(r report, why string) error {
	return tools.Refuse(tools.IO, "a later version of hob may read it; the figures are in the Claude Console too", "the report %s has another form than Anthropic documents: %s", r.name, why)
}

// wrong returns the error for an answer with another status than success.
func wrong(r report, a netguard.Answer) error {
	var body struct {
		Error struct{ Message string } `json:"error"`
	}
	said := ""
	if json.Unmarshal(a.Body, &body) == nil && body.Error.Message != "" {
		said = ": " + netguard.OneLine(body.Error.Message, 200)
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		return tools.Refuse(tools.Denied, adminKey+"; then: hob account add "+Account, "Anthropic does not accept the key for the report %s (401)%s", r.name, said)
	case a.Status == http.StatusForbidden:
		return tools.Refuse(tools.Denied, adminKey, "the key may not read the report %s (403)%s", r.name, said)
	case a.Status == http.StatusNotFound:
		return tools.Refuse(tools.NotFound, "individual accounts have no Admin API; it needs an organization in the Claude Console", "there is no report %s for this key (404)%s", r.name, said)
	case a.Status == http.StatusTooManyRequests:
		return tools.Refuse(tools.RateLimited, cmp.Or(tools.Later(a.Header), "wait some minutes"), "Anthropic refuses more requests for now (429)%s", said)
	case a.Status == http.StatusBadRequest:
		return tools.Refuse(tools.Validation, "ask for other days", "Anthropic refuses the request for the report %s (400)%s", r.name, said)
	case a.Status >= 500:
		return tools.Refuse(tools.IO, cmp.Or(tools.Later(a.Header), "the fault is Anthropic's; try again later"), "Anthropic could not make the report %s (%d)%s", r.name, a.Status, said)
	}
	return tools.Unsuccessful("Anthropic", a.Status, a.Header)
}

// Day returns the day of an instant, in UTC, as the reports count.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// errForm is an answer that cannot be read.
type errForm string

func (e errForm) Error() string { return string(e) }

// mostCount is a number that no report can reach.
const mostCount = 1 << 50

// counts checks that numbers of a report are possible.
func counts(all ...int64) error {
	for _, n := range all {
		if n < 0 || n > mostCount {
			return errForm(fmt.Sprintf("a count of %d", n))
		}
	}
	return nil
}
