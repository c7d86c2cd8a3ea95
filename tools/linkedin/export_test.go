package linkedin

import (
	"context"
	"time"

	"hob/daemon/netguard"
)

// Hurry makes the pauses between requests too short to notice.
func (c *Client) Hurry() { c.pause = time.Nanosecond }

// Get reads a page.
func (c *Client) Get(ctx context.Context) (netguard.Answer, error) { return c.get(ctx, c.home()) }

// ReadBoth reads a page as a list and as a job, and returns the size of what was read.
func ReadBoth(body []byte) (n int) {
	jobs, _, err := readSearch(body)
	if err == nil {
		n += len(SearchOutput{Jobs: jobs}.text(0))
	}
	if d, err := readDetail(body, "1"); err == nil {
		n += len(d.text())
	}
	return n
}
