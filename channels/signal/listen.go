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

// listen opens the stream of events after the event with the id last; "": only new events. The caller closes
// it.
//
// If the daemon has several accounts, hob asks for its own only: reading another account's messages would
// take them away from its other readers. Older versions of signal-cli decode the account in the query twice,
// newer ones once; both answer 400 to an account that they do not know
// (https://github.com/AsamK/signal-cli/issues/1682).
func (r *reader) listen(ctx context.Context, last string) (*http.Response, error) {
	queries := []string{""}
	// A daemon with one account ignores the parameter, so it is left out there.
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
			_ = resp.Body.Close() // only the status is needed
			continue
		}
		if err := r.noStream(resp); err != nil {
			_ = resp.Body.Close() // the body is not needed
			return nil, fmt.Errorf("listen to signal-cli: %w", err)
		}
		return resp, nil
	}
	return nil, channels.Refused(r.unknown())
}

// lookTime is how long checkStream waits for the header of an answer. A refusal comes at once, but an older
// signal-cli sends the header of a stream only with the first keep-alive, after 15 seconds.
const lookTime = time.Second

// errSilent means that nothing was refused within lookTime.
var errSilent = errors.New("no answer yet")

// checkStream checks that signal-cli would deliver messages, without reading any: it disconnects as soon as it
// knows. A newer signal-cli delivers messages that arrive meanwhile to the next reader; an older one delivers
// them to the connected readers only.
func (r *reader) checkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, errSilent)
	defer cancel()
	resp, err := r.listen(ctx, "")
	if errors.Is(err, errSilent) {
		return nil
	}
	if err == nil {
		_ = resp.Body.Close() // nothing was read from it
	}
	return err
}

// ask requests the stream of events.
func (r *reader) ask(ctx context.Context, query, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.channel.rpc.base+"/api/v1/events"+query, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.channel.rpc.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("listen to signal-cli: %w", wire.WithoutAddress(ctx, err))
	}
	return resp, nil
}

// noStream says why an answer is not a stream of events; nil if it is one.
func (r *reader) noStream(resp *http.Response) error {
	switch {
	case resp.StatusCode != http.StatusOK:
		return status(resp, r.channel.clock.Wall())
	case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return fmt.Errorf("the server at url sends no events: check url")
	}
	return nil
}
