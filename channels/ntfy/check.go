package ntfy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"hob/channels/wire"
)

// Test asks how the server does, whether it takes the token, and whether the topics may be read. It publishes nothing, so that hob may publish is
// seen by the first message only.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	lines, err := c.health(ctx)
	if err != nil {
		return lines, err
	}
	for _, topic := range c.topics {
		line, err := c.readable(ctx, topic)
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
	if c.token != "" {
		lines = append(lines, "The server takes the token.")
	}
	if !c.owner {
		return lines, nil
	}
	if err := c.checkClosed(ctx); err != nil {
		return lines, err
	}
	return append(lines, "Nobody can write to the topics without a token."), nil
}

// health is what the server says of itself; servers of before 2022 say nothing.
func (c *Channel) health(ctx context.Context) ([]string, error) {
	a, err := c.ask(ctx, "/v1/health")
	if err != nil {
		return nil, err
	}
	var how struct {
		Healthy *bool `json:"healthy"`
	}
	switch {
	case a.code == http.StatusNotFound:
		return nil, nil
	case a.code != http.StatusOK:
		return nil, c.said(a)
	case json.Unmarshal(a.body, &how) != nil || how.Healthy == nil:
		return nil, fmt.Errorf("%s answers, but not as an ntfy server does; check server", c.server)
	case !*how.Healthy:
		return nil, fmt.Errorf("%s says that it is not well", c.server)
	}
	return []string{c.server + " answers, and is well."}, nil
}

// readable asks for the messages of a topic, and for none of them ("Polling", "Fetch cached messages"). Who only sends need not be let in to read.
func (c *Channel) readable(ctx context.Context, topic string) (string, error) {
	a, err := c.ask(ctx, "/"+topic+"/json?poll=1&since=none")
	switch {
	case err != nil:
		return "", err
	case a.code == http.StatusOK && c.receive:
		return fmt.Sprintf("The topic %s can be read.", topic), nil
	case a.code == http.StatusOK, a.code == http.StatusForbidden && !c.receive:
		return fmt.Sprintf("The topic %s is only sent to (receive is false): whether that is allowed is seen when something is sent.", topic), nil
	}
	return "", fmt.Errorf("the topic %s cannot be read: %w", topic, c.said(a))
}

// said is what an answer that is no success means, and what to do about it.
func (c *Channel) said(a answer) error {
	err := fmt.Errorf("the server says %s", a.status)
	switch {
	case a.code == http.StatusUnauthorized && c.token != "":
		return fmt.Errorf("%w; it does not take the token: make a new one there, and set token to it", err)
	case a.code == http.StatusUnauthorized, a.code == http.StatusForbidden:
		return fmt.Errorf("%w; check token, and the rights that it has on the topic", err)
	case a.code >= 300 && a.code < 400:
		return fmt.Errorf("%w to %s; use that address as server", err, a.location)
	}
	return err
}

// answer is what the server says to a question.
type answer struct {
	code     int
	status   string // in words, with its own
	location string // where it is to be found instead
	body     []byte // as far as it counts
}

// ask gets what the server has at a path.
func (c *Channel) ask(ctx context.Context, path string) (a answer, err error) {
	req, err := c.request(ctx, http.MethodGet, path, "")
	if err != nil {
		return a, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return a, fmt.Errorf("ask %s: %w", c.server, wire.Bare(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // read as far as it counts
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return a, fmt.Errorf("ask %s: read the answer: %w", c.server, wire.Bare(ctx, err))
	}
	return answer{resp.StatusCode, status(resp, body), resp.Header.Get("Location"), body}, nil
}
