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

// List fetches the rows of a list. A server-side filter that is left empty is not sent.
// The server returns them in its own order. Limit 0 leaves their number to the server.
func List[R any](ctx context.Context, c Caller, l api.List[R], f event.Filter) ([]R, error) {
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
	route := http.MethodGet + " /v1/" + l.Name()
	if len(q) > 0 {
		route += "?" + q.Encode()
	}
	var rows []R
	err := c.Call(ctx, route, "", nil, &rows)
	return rows, err
}

// Show fetches one row; id is "" for something that exists once.
func Show[R any](ctx context.Context, c Caller, s api.Show[R], id string) (R, error) {
	var row R
	err := c.Call(ctx, string(s), id, nil, &row)
	return row, err
}

// Caller sends the request of a route. *Client implements it, and so does *cli.App, which finds the daemon first.
// The console uses it, so that its tests need no daemon.
type Caller interface {
	Call(ctx context.Context, route, id string, in, out any) error
}

// Do asks for a change; id is "" for something that exists once. The types of in and of the answer come from
// the route, so a wrong one does not compile.
func Do[In, Out any](ctx context.Context, c Caller, v api.Verb[In, Out], id string, in In) (Out, error) {
	var out Out
	err := c.Call(ctx, string(v), id, in, &out)
	return out, err
}

// Call sends the request of a route, with the body in (nil for none), and reads its answer into out. Show and Do are its typed forms.
func (c *Client) Call(ctx context.Context, route, id string, in, out any) error {
	// A route reads "METHOD /path/{id}", as package api defines it.
	method, path, _ := strings.Cut(route, " ")
	return c.do(ctx, method, strings.Replace(path, "{id}", url.PathEscape(id), 1), in, out)
}
