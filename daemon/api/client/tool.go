package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"hob/daemon/api"
)

// ToolCall is one call of a tool.
type ToolCall = api.ToolCall

// Outcome is the answer of a tool. Raw is the whole document, as hob tool --json prints it.
type Outcome struct {
	Success bool            `json:"success"`
	Result  json.RawMessage `json:"result"`
	Message string          `json:"message"`
	Error   string          `json:"error"` // a tools.Code
	Hint    string          `json:"hint"`
	Raw     json.RawMessage `json:"-"`
}

// Tool calls a tool. If the call needs approval, the error is a *Problem of kind event.Pending.
func (c *Client) Tool(ctx context.Context, name string, call ToolCall) (Outcome, error) {
	var o Outcome
	if err := c.do(ctx, http.MethodPost, "/v1/tools/"+url.PathEscape(name), call, &o.Raw); err != nil {
		return o, err
	}
	err := json.Unmarshal(o.Raw, &o)
	return o, err
}
