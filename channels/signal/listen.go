package signal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// listen opens the stream of events that come behind the one with the id last; "": behind now. The caller closes it.
//
// Of a daemon with several accounts it asks for hob's alone: the others' messages are taken from Signal for who reads them. Older versions of
// signal-cli decode the name of the account twice, newer ones once, and both answer 400 to a name that they do not know
// (https://github.com/AsamK/signal-cli/issues/1682).
func (r *reader) listen(ctx context.Context, last string) (*http.Response, error) {
	queries := []string{""}
	if r.shared {
		once := url.QueryEscape(r.named)
		queries = []string{"?account=" + once, "?account=" + url.QueryEscape(once)}
	}
	for _, query := range queries {
		resp, err := r.ask(ctx, query, last)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusBadRequest {
			_ = resp.Body.Close() // only the status counts
			continue
		}
		if err := r.noStream(resp); err != nil {
			_ = resp.Body.Close() // of no use
			return nil, fmt.Errorf("listen to signal-cli: %w", err)
		}
		return resp, nil
	}
	return nil, channels.Refused(r.unknown())
}

// lookTime is how long hears waits for the head of an answer: what is refused is refused at once, but an older signal-cli sends the head of a
// stream only with its first sign of life, after 15 seconds.
const lookTime = time.Second

// errSilent is that nothing was refused by then.
var errSilent = errors.New("no answer yet")

// hears finds out whether signal-cli would hand on messages, and hears none: it goes as soon as it knows. Who comes back gets from a newer
// signal-cli what came in the meantime; an older one has handed it to those who listened.
func (r *reader) hears(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, errSilent)
	defer cancel()
	resp, err := r.listen(ctx, "")
	if errors.Is(err, errSilent) {
		return nil
	}
	if err == nil {
		_ = resp.Body.Close() // nothing of it is read
	}
	return err
}

// ask makes one request for events.
func (r *reader) ask(ctx context.Context, query, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.rpc.base+"/api/v1/events"+query, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.rpc.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("listen to signal-cli: %w", wire.Bare(ctx, err))
	}
	return resp, nil
}

// noStream tells why an answer is no stream of events.
func (r *reader) noStream(resp *http.Response) error {
	switch {
	case resp.StatusCode != http.StatusOK:
		return status(resp, r.clock.Wall())
	case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return fmt.Errorf("what answers sends no events: check url")
	}
	return nil
}
