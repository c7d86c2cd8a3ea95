package anthropic

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strings"
	"time"

	"hob/daemon/netguard"
	"hob/daemon/sys"
)

// Line is one entry of a report, about a model, a kind of cost, a person or a day. Fields that the report does not have are zero.
type Line struct {
	Name       string `json:"name,omitempty" jsonschema:"model, kind of cost, person or day"`
	Input      int64  `json:"input,omitempty" jsonschema:"tokens of input that were not cached"`
	CacheRead  int64  `json:"cache_read,omitempty" jsonschema:"tokens read from the cache"`
	CacheWrite int64  `json:"cache_write,omitempty" jsonschema:"tokens written to the cache"`
	Output     int64  `json:"output,omitempty" jsonschema:"tokens of output"`
	Searches   int64  `json:"web_searches,omitempty" jsonschema:"searches in the web"`
	Sessions   int64  `json:"sessions,omitempty" jsonschema:"sessions of Claude Code"`
	Added      int64  `json:"lines_added,omitempty" jsonschema:"lines of code added"`
	Removed    int64  `json:"lines_removed,omitempty" jsonschema:"lines of code removed"`
	Commits    int64  `json:"commits,omitempty" jsonschema:"commits"`
	Requests   int64  `json:"pull_requests,omitempty" jsonschema:"pull requests"`
	USD        string `json:"usd,omitempty" jsonschema:"US dollars, exact"`

	cents *big.Rat // of USD; nil: the report has no money
}

// add adds the numbers of another line.
func (l *Line) add(o Line) {
	for _, n := range []struct {
		to *int64
		n  int64
	}{
		{&l.Input, o.Input},
		{&l.CacheRead, o.CacheRead},
		{&l.CacheWrite, o.CacheWrite},
		{&l.Output, o.Output},
		{&l.Searches, o.Searches},
		{&l.Sessions, o.Sessions},
		{&l.Added, o.Added},
		{&l.Removed, o.Removed},
		{&l.Commits, o.Commits},
		{&l.Requests, o.Requests},
	} {
		*n.to += n.n
	}
	if o.cents != nil {
		if l.cents == nil {
			l.cents = new(big.Rat)
		}
		l.cents.Add(l.cents, o.cents)
		l.USD = dollars(l.cents)
	}
}

// decimals is the largest number of digits after the point of an amount.
const decimals = 20

// centsForm is the form of an amount in cents. Exponents are refused, because a short text could mean an extremely long number.
var centsForm = sys.Regexp(`^-?\d{1,18}(\.\d{1,20})?$`)

// cents is an amount of money in cents, as the reports write it: "123.78912", or 186 in claude_code.
type cents struct{ *big.Rat }

func (c *cents) UnmarshalJSON(raw []byte) error {
	s := strings.Trim(string(raw), `"`)
	if !centsForm().MatchString(s) {
		return errForm("an amount that is not a decimal number")
	}
	c.Rat, _ = new(big.Rat).SetString(s)
	return nil
}

// dollars writes cents as dollars, exactly: at least two digits after the point, and as many as there are.
func dollars(c *big.Rat) string {
	s := new(big.Rat).Quo(c, big.NewRat(100, 1)).FloatString(decimals + 2)
	whole, part, _ := strings.Cut(s, ".")
	part = strings.TrimRight(part, "0")
	return whole + "." + part + strings.Repeat("0", max(0, 2-len(part)))
}

// only refuses other currencies, because amounts in them cannot be added.
func only(currency string, amount cents) error {
	if amount.Rat == nil {
		return errForm("an amount is missing")
	}
	if currency != "USD" {
		return errForm("an amount in " + netguard.OneLine(currency, 20))
	}
	return nil
}

// dayOf is the UTC day of a time in a report.
func dayOf(s string) (string, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return "", errForm("a day that is not a time")
	}
	return t.UTC().Format(day), nil
}

// each reads the results of the buckets of a page.
func each[T any](raw json.RawMessage, read func(day string, one T) error) error {
	var buckets []struct {
		Start   string `json:"starting_at"`
		Results []T    `json:"results"`
	}
	if err := json.Unmarshal(raw, &buckets); err != nil {
		return errForm("its days cannot be read")
	}
	for _, b := range buckets {
		at, err := dayOf(b.Start)
		if err != nil {
			return err
		}
		for _, one := range b.Results {
			if err := read(at, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// readUsage reads a page of the report usage.
func readUsage(raw json.RawMessage, add func(day string, l Line)) error {
	type result struct {
		Model   string `json:"model"`
		Input   *int64 `json:"uncached_input_tokens"`
		Read    int64  `json:"cache_read_input_tokens"`
		Written struct {
			Hour    int64 `json:"ephemeral_1h_input_tokens"`
			Minutes int64 `json:"ephemeral_5m_input_tokens"`
		} `json:"cache_creation"`
		Output *int64 `json:"output_tokens"`
		Tools  struct {
			Searches int64 `json:"web_search_requests"`
		} `json:"server_tool_use"`
	}
	return each(raw, func(at string, r result) error {
		if r.Input == nil || r.Output == nil {
			return errForm("a result without tokens")
		}
		add(at, Line{Name: cmp.Or(r.Model, "no model"), Input: *r.Input, CacheRead: r.Read, CacheWrite: r.Written.Hour + r.Written.Minutes, Output: *r.Output, Searches: r.Tools.Searches})
		return counts(*r.Input, r.Read, r.Written.Hour, r.Written.Minutes, *r.Output, r.Tools.Searches)
	})
}

// readCost reads a page of the report cost.
func readCost(raw json.RawMessage, add func(day string, l Line)) error {
	type result struct {
		Amount      cents  `json:"amount"`
		Currency    string `json:"currency"`
		Description string `json:"description"`
	}
	return each(raw, func(at string, r result) error {
		if err := only(r.Currency, r.Amount); err != nil {
			return err
		}
		add(at, Line{Name: cmp.Or(r.Description, "other"), cents: r.Amount.Rat})
		return nil
	})
}

// person is the user of Claude Code in an entry of its report.
type person struct {
	Date  string `json:"date"`
	Actor struct {
		Mail string `json:"email_address"`
		Key  string `json:"api_key_name"`
	} `json:"actor"`
	Core *struct {
		Commits  int64 `json:"commits_by_claude_code"`
		Requests int64 `json:"pull_requests_by_claude_code"`
		Sessions int64 `json:"num_sessions"`
		Lines    struct {
			Added   int64 `json:"added"`
			Removed int64 `json:"removed"`
		} `json:"lines_of_code"`
	} `json:"core_metrics"`
	Models []struct {
		Cost struct {
			Amount   cents  `json:"amount"`
			Currency string `json:"currency"`
		} `json:"estimated_cost"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Read   int64 `json:"cache_read"`
			Writes int64 `json:"cache_creation"`
		} `json:"tokens"`
	} `json:"model_breakdown"`
}

// readClaudeCode reads a page of the report claude_code.
func readClaudeCode(raw json.RawMessage, add func(day string, l Line)) error {
	var people []person
	if err := json.Unmarshal(raw, &people); err != nil {
		return errForm("its records cannot be read")
	}
	for _, p := range people {
		at, err := dayOf(p.Date)
		if err != nil {
			return err
		}
		if p.Core == nil {
			return errForm("a record without figures")
		}
		l := Line{Name: cmp.Or(p.Actor.Mail, p.Actor.Key, "unnamed"), Sessions: p.Core.Sessions, Added: p.Core.Lines.Added, Removed: p.Core.Lines.Removed, Commits: p.Core.Commits, Requests: p.Core.Requests}
		if err := counts(l.Sessions, l.Added, l.Removed, l.Commits, l.Requests); err != nil {
			return err
		}
		for _, m := range p.Models {
			if err := only(m.Cost.Currency, m.Cost.Amount); err != nil {
				return err
			}
			if err := counts(m.Tokens.Input, m.Tokens.Output, m.Tokens.Read, m.Tokens.Writes); err != nil {
				return err
			}
			l.add(Line{Input: m.Tokens.Input, Output: m.Tokens.Output, CacheRead: m.Tokens.Read, CacheWrite: m.Tokens.Writes, cents: m.Cost.Amount.Rat})
		}
		add(at, l)
	}
	return nil
}
