package web

import (
	"sync"
	"time"
)

// Limits of the cache.
const (
	fresh      = 15 * time.Minute
	maxPages   = 64
	maxCached  = 16 << 20 // bytes of text in total
	maxOnePage = 4 << 20  // bytes of text per page
)

// cache keeps pages for 15 minutes. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	pages map[string]kept
	order []string // links, oldest first
	size  int
}

// kept is a page with the time of its fetch.
type kept struct {
	page FetchOutput
	at   time.Time
}

// page returns the page that was fetched from a link within the last 15 minutes.
func (c *cache) page(link string, now time.Time) (FetchOutput, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.pages[link]
	// A clock that was set back makes the age negative. Such a page is fetched again.
	age := now.Sub(k.at)
	if !ok || age < 0 || age >= fresh {
		return FetchOutput{}, false
	}
	return k.page, true
}

// put keeps a page, and drops the oldest ones if there is no room.
func (c *cache) put(link string, p FetchOutput, now time.Time) {
	// One large page must not push all others out.
	if len(p.Text) > maxOnePage {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = map[string]kept{}
	}
	// A repeated link moves to the end of the order.
	c.drop(link)
	for len(c.order) > 0 && (len(c.order) >= maxPages || c.size+len(p.Text) > maxCached) {
		c.drop(c.order[0])
	}
	c.pages[link] = kept{p, now}
	c.order = append(c.order, link)
	c.size += len(p.Text)
}

// drop removes a page.
func (c *cache) drop(link string) {
	k, ok := c.pages[link]
	if !ok {
		return
	}
	c.size -= len(k.page.Text)
	delete(c.pages, link)
	for i, l := range c.order {
		if l == link {
			c.order = append(c.order[:i], c.order[i+1:]...)
			return
		}
	}
}
