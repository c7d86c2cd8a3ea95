package ntfy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"hob/channels/wire"
)

// Test checks the server's health, the token, and whether the topics can be read. It publishes nothing, so
// only the first message shows whether hob may publish.
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
		lines = append(lines, "The server accepts the token.")
	}
	// Only the owner's topics must be closed to others.
	if !c.owner {
		return lines, nil
	}
	if err := c.checkClosed(ctx); err != nil {
		return lines, err
	}
	return append(lines, "Nobody can write to the topics without a token."), nil
}

// health reads the server's health; servers from before 2022 do not report it.
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
		return nil, c.explain(a)
	case json.Unmarshal(a.body, &how) != nil || how.Healthy == nil:
		return nil, fmt.Errorf("%s answers, but not as an ntfy server does; check the key server", c.server)
	case !*how.Healthy:
		return nil, fmt.Errorf("%s reports that it is not healthy", c.server)
	}
	return []string{c.server + " answers, and is healthy."}, nil
}

// readable polls a topic for no messages ("Polling", "Fetch cached messages"). A section that only sends
// needs no right to read.
func (c *Channel) readable(ctx context.Context, topic string) (string, error) {
	a, err := c.ask(ctx, "/"+topic+"/json?poll=1&since=none")
	switch {
	case err != nil:
		return "", err
	case a.code == http.StatusOK && c.receive:
		return fmt.Sprintf("The topic %s can be read.", topic), nil
	case a.code == http.StatusOK, a.code == http.StatusForbidden && !c.receive:
		return fmt.Sprintf("The topic %s is only sent to (receive is false): the first message will show whether that is allowed.", topic), nil
	}
	return "", fmt.Errorf("the topic %s cannot be read: %w", topic, c.explain(a))
}

// explain explains an error status, and says what to do about it.
func (c *Channel) explain(a answer) error {
	err := fmt.Errorf("the server says %s", a.status)
	switch {
	case a.code == http.StatusUnauthorized && c.token != "":
		return fmt.Errorf("%w; it does not accept the token: create a new one there, and set token to it", err)
	case a.code == http.StatusUnauthorized, a.code == http.StatusForbidden:
		return fmt.Errorf("%w; check token and its rights on the topic", err)
	case a.code >= 300 && a.code < 400:
		return fmt.Errorf("%w to %s; use that address as server", err, a.location)
	}
	return err
}

// answer is an answer of the server.
type answer struct {
	code     int
	status   string // with the server's own text
	location string // of a redirect
	body     []byte // its beginning
}

// ask requests a path from the server.
func (c *Channel) ask(ctx context.Context, path string) (a answer, err error) {
	req, err := c.request(ctx, http.MethodGet, path, "")
	if err != nil {
		return a, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return a, fmt.Errorf("ask %s: %w", c.server, wire.WithoutAddress(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // only the beginning is needed
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return a, fmt.Errorf("ask %s: read the answer: %w", c.server, wire.WithoutAddress(ctx, err))
	}
	return answer{resp.StatusCode, status(resp, body), resp.Header.Get("Location"), body}, nil
}
