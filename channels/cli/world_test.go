package cli_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/cli"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// program is a client of the local API: it gives each message an id, and repeats it until it is accepted.
type program struct {
	mu    sync.Mutex
	said  [][2]string // text and id
	taken int         // of said
	open  int         // adapters that listen
	moved chan struct{}
}

// move wakes waiting callers. The caller holds the lock.
func (p *program) move() {
	close(p.moved)
	p.moved = make(chan struct{})
}

func (p *program) say(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := fmt.Sprint("id-", len(p.said))
	p.said = append(p.said, [2]string{text, id})
	p.move()
	return id
}

// again repeats a message, as after a lost answer.
func (p *program) again(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.said {
		if m[1] == id {
			p.said = append(p.said, m)
			break
		}
	}
	p.move()
}

func (p *program) listening(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		open, moved := p.open, p.moved
		p.mu.Unlock()
		if open > 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-moved:
		}
	}
}

// hob is the cli of one process, and the client that uses it.
type hob struct {
	*cli.Channel
	*program
}

// Run accepts the client's messages.
func (h hob) Run(ctx context.Context, in channels.Inbox) error {
	local := cli.New(in, nil, sys.RealClock(), sys.RandomIDs(), "Sam")
	h.mu.Lock()
	h.open++
	h.move()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.open--
		h.mu.Unlock()
	}()
	for {
		h.mu.Lock()
		todo, moved := h.said[h.taken:], h.moved
		h.mu.Unlock()
		for _, m := range todo {
			if _, err := local.Post(ctx, m[0], "", m[1]); err != nil {
				return err // what was said is said again to the next one
			}
			h.mu.Lock()
			h.taken++
			h.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-moved:
		}
	}
}

func world(t *testing.T) channelstest.World {
	p := &program{moved: make(chan struct{})}
	return channelstest.World{
		Name: "cli", To: event.CLI, Server: "programs that speak the local API",
		Open: func() channels.Channel { return hob{cli.New(nil, nil, sys.RealClock(), sys.RandomIDs(), "Sam"), p} },
		Say:  p.say, Again: p.again, Listening: p.listening,
		Noise: func() {
			local := cli.New(&channelstest.Inbox{}, nil, sys.RealClock(), sys.RandomIDs(), "Sam")
			for _, m := range [][3]string{{"", "", ""}, {" \n", "", ""}, {strings.Repeat("x", cli.MaxText+1), "", ""}, {"x", "telegram:7", ""}, {"x", "", "two words"}} {
				if _, err := local.Post(t.Context(), m[0], m[1], m[2]); err == nil {
					t.Errorf("taken: %.40q", m)
				}
			}
		},
	}
}

// TestSuite runs the suite of all channels. A message to the cli is delivered by its commit, so the tests of
// sending are skipped.
func TestSuite(t *testing.T) { channelstest.Run(t, world) }

// TestTable checks the row of docs/channels.md.
func TestTable(t *testing.T) { channelstest.Table(t, "cli", world(t)) }
