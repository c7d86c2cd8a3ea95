package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hob/daemon/api"
	"hob/daemon/event"
)

// List fetches the rows of a list.
func List[R any](ctx context.Context, c *Client, l api.List[R], f event.Filter) ([]R, error) {
	q := url.Values{}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if f.Name != "" {
		q.Set("name", f.Name)
	}
	var rows []R
	err := c.ask(ctx, string(l), "", q, nil, &rows)
	return rows, err
}

// Show fetches one row; id is "" for something that exists once.
func Show[R any](ctx context.Context, c *Client, s api.Show[R], id string) (R, error) {
	var row R
	err := c.ask(ctx, string(s), id, nil, nil, &row)
	return row, err
}

// Do asks for a change; id is "" for something that exists once.
func Do[In, Out any](ctx context.Context, c *Client, v api.Verb[In, Out], id string, in In) (Out, error) {
	var out Out
	err := c.ask(ctx, string(v), id, nil, in, &out)
	return out, err
}

// ask sends the request of a route and reads its answer into out.
func (c *Client) ask(ctx context.Context, route, id string, query url.Values, in, out any) error {
	method, path, _ := strings.Cut(route, " ")
	path = strings.Replace(path, "{id}", url.PathEscape(id), 1)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if method == http.MethodGet {
		in = nil
	}
	return c.do(ctx, method, path, in, out)
}
