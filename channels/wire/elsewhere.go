package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"hob/channels"
	"hob/daemon/netguard"
)

// ErrLost is of a file that cannot be had, however often it is asked for.
var ErrLost = errors.New("the file cannot be had")

// Elsewhere opens a file that a platform says somebody else has: no token goes along, and it is at most as large as channels.MaxFile. Whoever
// wrote the message may have named the place, so that private networks are only asked when the platform's own address, home, is in one too.
// Errors name no address, because it may hold a key.
func Elsewhere(ctx context.Context, home, link string) (io.ReadCloser, error) {
	at, err := url.Parse(home)
	if err != nil {
		return nil, fmt.Errorf("read the platform's address: %w", Bare(ctx, err))
	}
	client := netguard.NewClient(netguard.Config{Timeout: FileTime, MaxBytes: channels.MaxFile})
	for range maxMoves {
		answer, err := client.Do(ctx, netguard.Request{Link: link, Private: netguard.Private(at.Hostname())})
		switch {
		case err != nil:
			return nil, guarded(err)
		case answer.Moved != "":
			link = answer.Moved
		case answer.Status == http.StatusOK:
			return io.NopCloser(bytes.NewReader(answer.Body)), nil
		case answer.Status >= http.StatusInternalServerError, answer.Status == http.StatusTooManyRequests:
			return nil, fmt.Errorf("the server that has the file says %d", answer.Status)
		default:
			return nil, fmt.Errorf("%w: the server that has it says %d", ErrLost, answer.Status)
		}
	}
	return nil, fmt.Errorf("%w: it is moved again and again", ErrLost)
}

// maxMoves is how many servers are asked for a file, one after the other.
const maxMoves = 5

// guarded is an error of the guarded client without the address.
func guarded(err error) error {
	if e := (*netguard.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	for _, never := range []error{netguard.ErrAddress, netguard.ErrForbidden, netguard.ErrTooLarge, netguard.ErrRedirects, netguard.ErrEncoding} {
		if errors.Is(err, never) {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
	return err
}
