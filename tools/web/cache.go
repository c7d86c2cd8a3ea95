package web

import (
	"sync"
	"time"
)

// Bounds of the cache.
const (
	fresh      = 15 * time.Minute
	maxPages   = 64
	maxCached  = 16 << 20 // bytes of text in all
	maxOnePage = 4 << 20  // bytes of text of one page
)

// cache keeps pages for a quarter of an hour. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	pages map[string]kept
	order []string // links, oldest first
	size  int
}

type kept struct {
	page Page
	at   time.Time
}

// page is what was fetched from a link within the last quarter of an hour.
func (c *cache) page(link string, now time.Time) (Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.pages[link]
	age := now.Sub(k.at)
	if !ok || age < 0 || age >= fresh {
		return Page{}, false
	}
	return k.page, true
}

// put keeps a page, and lets the oldest go where there is no room.
func (c *cache) put(link string, p Page, now time.Time) {
	if len(p.Text) > maxOnePage {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = map[string]kept{}
	}
	c.drop(link)
	for len(c.order) > 0 && (len(c.order) >= maxPages || c.size+len(p.Text) > maxCached) {
		c.drop(c.order[0])
	}
	c.pages[link] = kept{p, now}
	c.order = append(c.order, link)
	c.size += len(p.Text)
}

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
