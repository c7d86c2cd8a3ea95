package anthropic

import (
	"context"
	"encoding/json"
	"net/url"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"
)

// mostPages limits how much of a list is read, in pages of up to 1,000 models.
const mostPages = 10

// wireModel is a row of the list (https://platform.claude.com/docs/en/api/models/list).
type wireModel struct {
	ID        string  `json:"id"`
	Name      string  `json:"display_name"`
	Window    float64 `json:"max_input_tokens"`
	MaxOutput float64 `json:"max_tokens"`
	Lifecycle string  `json:"lifecycle"`
	Can       struct {
		Image *struct {
			Supported bool `json:"supported"`
		} `json:"image_input"`
	} `json:"capabilities"`
}

// wirePage is a page of the list.
type wirePage struct {
	Data []wireModel `json:"data"`
	More bool        `json:"has_more"`
	Last string      `json:"last_id"`
}

// List asks the server for its models, sorted by ID, within 10 s. Prices are those of known.go, because the server tells none. Errors are
// those of wire.Asker.
func List(ctx context.Context, c llm.Config) ([]llm.Entry, error) {
	if c.BaseURL == "" {
		c.BaseURL = baseURL
	}
	a, err := wire.NewAsker(c)
	if err != nil {
		return nil, err
	}
	a.Sign = sign
	return a.List(ctx, func(ctx context.Context) (*wire.Collection, error) {
		found, after := wire.NewCollection(), ""
		for range mostPages {
			u := a.Below("models")
			u.RawQuery = url.Values{"limit": {"1000"}, "after_id": {after}}.Encode()
			if after == "" {
				u.RawQuery = "limit=1000"
			}
			body, err := a.Fetch(ctx, u)
			if err != nil {
				return nil, err
			}
			var page wirePage
			if err := json.Unmarshal(body, &page); err != nil || page.Data == nil {
				return nil, a.NoList(body)
			}
			for _, m := range page.Data {
				found.Add(m.entry())
				if m.Lifecycle == "retired" {
					found.Hide(m.ID)
				}
			}
			if after = page.Last; !page.More || after == "" {
				break
			}
		}
		return found, nil
	})
}

// entry converts a row. All of these models call tools.
func (m wireModel) entry() llm.Entry {
	tools := true
	e := llm.Entry{ID: m.ID, Name: m.Name, Context: wire.Tokens(m.Window), MaxOutput: wire.Tokens(m.MaxOutput), Tools: &tools}
	e.Window = e.Context
	if m.Can.Image != nil {
		e.Vision = &m.Can.Image.Supported
	}
	return known(e)
}
